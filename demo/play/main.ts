/** Puts the page together: a plan from the address, its run, and where in it the user is. */
import { el, must, plural, setText } from '../views/dom.js'
import { HIGHEST_SEED, hashOf, planIn, seedAfter, seedIn } from './link.js'
import { addSeed, emptySum, sumText } from './many-seeds.js'
import { gapsIn, outcomeOf } from './outcome.js'
import { lossOf, type Message, type Plan, play, possible, type Run } from './run.js'
import { Stage } from './stage.js'
import { isStory, STORIES, storyOf } from './stories.js'
import { Timeline } from './timeline.js'
import { pageNames, sentenceOf } from './words.js'

const MANY = 200
const COPIED_MS = 2_000

document.documentElement.toggleAttribute('data-framed', window !== window.top)

let plan: Plan = planIn(location.hash)
let run: Run = play(plan)
let names = pageNames(run)
let at = 0
let timer: ReturnType<typeof setInterval> | undefined

const stage = new Stage(lose)
const timeline = new Timeline((row) => {
  pause()
  goTo(row)
})
const inputs = {
  story: must<HTMLSelectElement>('#story-name'),
  seed: must<HTMLInputElement>('#seed'),
  speed: must<HTMLSelectElement>('#speed'),
  position: must<HTMLInputElement>('#position'),
}
const choose = must<HTMLDetailsElement>('#choose')
const last = () => run.moments.length - 1

/** Plays another plan, and shows the given event of it. */
function start(next: Plan, position: number): void {
  plan = next
  run = play(plan)
  names = pageNames(run)
  history.replaceState(undefined, '', hashOf(plan))
  inputs.story.value = plan.story
  inputs.seed.value = `${plan.seed}`
  inputs.position.max = `${last()}`
  setText(must('#about'), storyOf(plan.story).about)
  setText(must('#result'), outcomeOf(run).headline)
  must('#own').hidden = plan.own.length === 0
  setText(must('#own-count'), `${plural(plan.own.length, 'event')} chosen by you`)
  timeline.draw(run)
  goTo(position)
}

function goTo(position: number): void {
  at = Math.max(0, Math.min(position, last()))
  const moment = run.moments[at]!
  const before = run.moments[at - 1]?.system
  stage.draw({
    system: moment.system,
    gaps: gapsIn(run.moments.slice(0, at + 1)),
    names,
  })
  timeline.goTo(at)
  inputs.position.value = `${at}`
  setText(must('#count'), `Event ${at} of ${last()}`)
  const happened = before ? sentenceOf(moment, before, names) : 'Nothing has happened yet.'
  setText(must('#event'), happened)
  if (!timer) setText(must('#announce'), happened)
  must('#no-story').hidden = at > 0
  must<HTMLButtonElement>('#back').disabled = at === 0
  must<HTMLButtonElement>('#step').disabled = at === last()
  if (at === last()) pause()
  drawOutcome()
  drawChoices()
}

function drawOutcome(): void {
  const card = must('#outcome')
  card.hidden = at < last()
  if (card.hidden) return
  const { verdict, headline, sentences } = outcomeOf(run)
  card.dataset.verdict = verdict
  setText(must('#outcome-title'), headline)
  must('#outcome-text').replaceChildren(...sentences.map((each) => el('li', {}, each)))
  setText(must('#announce'), `The run is over. ${headline}`)
}

/** Everything that can happen next, for a user who wants to choose it. */
function drawChoices(): void {
  if (!choose.open) return
  const { system, problem } = run.moments[at]!
  const steps = problem === undefined ? possible(system, plan.story) : []
  must('#choices').replaceChildren(
    ...steps.map(({ event, state }, choice) => {
      const text = sentenceOf({ event, system: state }, system, names)
      const button = el('button', { type: 'button', class: 'quiet' }, text)
      button.addEventListener('click', () => interfere(choice))
      return el('li', {}, button)
    }),
  )
}

/**
 * Makes the user's choice happen instead of the seed's. Forgets what the user chose for later
 * events: those belonged to another run.
 */
function interfere(choice: number): void {
  const own = plan.own.filter((each) => each.at <= at)
  start({ ...plan, own: [...own, { at: at + 1, choice }] }, at + 1)
}

function lose(message: Message): void {
  const { system, problem } = run.moments[at]!
  if (problem === undefined) interfere(lossOf(message, system, plan.story))
}

function pause(): void {
  clearInterval(timer)
  timer = undefined
  setText(must('#play'), 'Play')
}

function resume(): void {
  if (at === last()) goTo(0)
  timer = setInterval(() => goTo(at + 1), Number(inputs.speed.value))
  setText(must('#play'), 'Pause')
  goTo(at + 1)
}

function startAnew(next: Partial<Plan>): void {
  pause()
  start({ ...plan, own: [], ...next }, 0)
}

async function playMany(): Promise<void> {
  const result = must('#many-result')
  const button = must<HTMLButtonElement>('#many')
  const { story } = plan
  let next = plan.seed
  button.disabled = true
  let sum = emptySum()
  while (sum.seeds < MANY) {
    sum = addSeed(sum, story, next)
    next = seedAfter(next)
    if (sum.seeds % 10 > 0) continue
    setText(must('#many'), `${sum.seeds} of ${MANY}…`)
    await new Promise((resolve) => setTimeout(resolve))
  }
  button.disabled = false
  setText(button, `Play ${MANY} seeds`)
  setText(result, sumText(sum))
  const found = sum.first.broken ?? sum.first.limit
  if (found === undefined) return
  const show = el('button', { type: 'button', class: 'quiet' }, `Show seed ${found}`)
  show.addEventListener('click', () => startAnew({ story, seed: found }))
  result.append(' ', show)
}

for (const [name, { title }] of Object.entries(STORIES))
  inputs.story.append(el('option', { value: name }, title))
inputs.story.addEventListener('change', () => {
  const { value } = inputs.story
  if (isStory(value)) startAnew({ story: value })
})
inputs.seed.addEventListener('input', () => inputs.seed.setCustomValidity(''))
inputs.seed.addEventListener('change', () => {
  const seed = seedIn(inputs.seed.value.trim())
  if (seed !== undefined) return startAnew({ seed })
  inputs.seed.setCustomValidity(`A seed is a whole number from 1 to ${HIGHEST_SEED}.`)
  inputs.seed.reportValidity()
})
inputs.speed.addEventListener('change', () => {
  if (!timer) return
  pause()
  resume()
})
inputs.position.addEventListener('input', () => {
  pause()
  goTo(Number(inputs.position.value))
})
choose.addEventListener('toggle', drawChoices)
must('#other').addEventListener('click', () => startAnew({ seed: seedAfter(plan.seed) }))
must('#play').addEventListener('click', () => (timer ? pause() : resume()))
must('#step').addEventListener('click', () => {
  pause()
  goTo(at + 1)
})
must('#back').addEventListener('click', () => {
  pause()
  goTo(at - 1)
})
must('#undo').addEventListener('click', () => {
  pause()
  start({ ...plan, own: plan.own.slice(0, -1) }, plan.own.at(-1)!.at - 1)
})
must('#many').addEventListener('click', playMany)
must('#copy').addEventListener('click', async () => {
  // Some browsers refuse to copy. Without HTTPS there is no clipboard.
  const copied = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  )
  setText(must('#copy'), copied ? 'Copied' : 'Copy the address')
  setTimeout(() => setText(must('#copy'), 'Copy link'), COPIED_MS)
})
addEventListener('hashchange', () => {
  pause()
  start(planIn(location.hash), 0)
})

start(plan, 0)
