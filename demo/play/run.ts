/**
 * Plays a run from its seed. The system is the explorer's (`test/model`), so it is the production
 * code of client and server. The seed, or the user, chooses one event after another.
 */
import type { Step } from '../../test/model/explorer.js'
import type { Message, System } from '../../test/model/state.js'
import { hiloModel } from '../../test/model/system.js'
import { createRandom } from '../../test/simulation/random.js'
import { choose } from './chance.js'
import { type StoryName, storyOf } from './stories.js'

export type { Message, System }

/** All that a run depends on. The same plan is the same run, on every machine. */
export interface Plan {
  story: StoryName
  seed: number
  /** What the user chose in place of the seed, in order. */
  own: readonly OwnEvent[]
}

export interface OwnEvent {
  /** The place of the event in the run. */
  at: number
  /** The place of the event among those that were possible. */
  choice: number
}

export interface Moment {
  /** What happened, in words. The first moment has none. */
  event: string
  isOwn: boolean
  system: System
  /** The message that arrived or was lost. */
  message?: Message | undefined
  /** What the event broke, in a sentence. Nothing follows it. */
  problem?: string | undefined
}

export interface Run {
  moments: readonly Moment[]
  /** Why a device makes no id any more, even when all that is under way arrives. */
  stuck?: string | undefined
}

/** Bounds end each run before that. */
const MOST_EVENTS = 500

export function play({ story: name, seed, own }: Plan): Run {
  const story = storyOf(name)
  const model = hiloModel(story.bounds)
  const random = createRandom(seed)
  const initial = model.initial()
  const moments: Moment[] = [{ event: '', isOwn: false, system: initial }]
  while (moments.length <= MOST_EVENTS) {
    const { system } = moments.at(-1)!
    const chosen = own.find(({ at }) => at === moments.length)
    // Each event uses up two random numbers, also one that the user chose. So the numbers for later
    // events stay the same.
    const [first, second] = [random.next(), random.next()]
    const steps = chosen ? possible(system, name) : model.next(system)
    if (steps.length === 0) return { moments, stuck: model.stuck(system) }
    const choice = chosen
      ? Math.min(chosen.choice, steps.length - 1)
      : choose(
          steps.map(({ event }) => event),
          first,
          second,
        )
    const step = steps[choice]!
    const { event, state: after } = story.forgets ? forgetful(moments, step) : step
    const problem = model.broken(after)
    moments.push({
      event,
      isOwn: chosen !== undefined,
      system: after,
      message: messageOf(system, steps, choice),
      problem,
    })
    if (problem !== undefined) break
  }
  return { moments }
}

/** Everything that can happen now. The user may always lose a message. */
export function possible(system: System, name: StoryName): Step<System>[] {
  const { left } = system
  const generous = { ...system, left: { ...left, losses: left.losses + 1 } }
  return hiloModel(storyOf(name).bounds)
    .next(generous)
    .map(({ event, state }) => {
      const losses = Math.min(state.left.losses, left.losses)
      return { event, state: { ...state, left: { ...state.left, losses } } }
    })
}

/** The choice that loses this message. */
export function lossOf(message: Message, system: System, name: StoryName): number {
  return possible(system, name).findIndex(
    ({ event, state }) => event.endsWith(' is lost.') && !state.messages.includes(message),
  )
}

/** The events of one message stand together in the list. In the first of them it arrives. */
function messageOf(before: System, steps: Step<System>[], choice: number): Message | undefined {
  if (!/^The .*( arrives| is lost\.$| is refused by a proxy\.$)/.test(steps[choice]!.event))
    return undefined
  const arrival = steps.slice(0, choice + 1).findLast(({ event }) => event.endsWith(' arrives.'))!
  return before.messages.find((message) => !arrival.state.messages.includes(message))
}

/** Plays without the guard: a device that loses its power also loses its newest transaction. */
function forgetful(moments: readonly Moment[], step: Step<System>): Step<System> {
  const { event, state } = step
  const name = /^Device (\w) loses its power\.$/.exec(event)?.[1]
  const storedIn = (system: System) => system.devices.find((device) => device.name === name)?.stored
  const newest = storedIn(state)
  const stored = moments.map(({ system }) => storedIn(system)).findLast((each) => each !== newest)
  if (!stored) return step
  const devices = state.devices.map((each) => (each.name === name ? { ...each, stored } : each))
  return { event: `${event} Its newest transaction is gone.`, state: { ...state, devices } }
}
