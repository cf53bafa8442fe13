/** A plan as the end of the page's address, so that a link plays the same run again. */
import type { OwnEvent, Plan } from './run.js'
import { isStory } from './stories.js'

/** The grant of a claim is lost at once: what the guards are for shows from the beginning. */
const FIRST_PLAN: Plan = { story: 'network', seed: 27, own: [] }
export const HIGHEST_SEED = 999_999

/** @example `#story=network&seed=7&own=12.3_40.0`: the user chose events 12 and 40 */
export function hashOf({ story, seed, own }: Plan): string {
  const chosen = own.map(({ at, choice }) => `${at}.${choice}`).join('_')
  return `#story=${story}&seed=${seed}${chosen && `&own=${chosen}`}`
}

/** Where the address says nothing, or nothing that makes sense, the first plan holds. */
export function planIn(hash: string): Plan {
  const fields = new URLSearchParams(hash.replace(/^#/, ''))
  const story = fields.get('story') ?? ''
  return {
    story: isStory(story) ? story : FIRST_PLAN.story,
    seed: seedIn(fields.get('seed') ?? '') ?? FIRST_PLAN.seed,
    own: ownIn(fields.get('own') ?? ''),
  }
}

export function seedIn(text: string): number | undefined {
  const seed = Number(text)
  return /^\d+$/.test(text) && seed >= 1 && seed <= HIGHEST_SEED ? seed : undefined
}

/** After the highest seed comes the first one again. */
export const seedAfter = (seed: number): number => (seed % HIGHEST_SEED) + 1

/** If the link has two choices for one event, the first one counts. Sorted by event. */
function ownIn(text: string): OwnEvent[] {
  const own = new Map<number, OwnEvent>()
  for (const [, at, choice] of text.matchAll(/(?:^|_)(\d{1,4})\.(\d{1,3})(?=_|$)/g))
    if (!own.has(Number(at))) own.set(Number(at), { at: Number(at), choice: Number(choice) })
  return [...own.values()].sort((a, b) => a.at - b.at)
}
