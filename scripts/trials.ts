/** Tries changes of the sources, in several copies beside each other, and says who notices them. */
import type { Answer, TestsOfFile } from './judge.js'
import { Lane, type LaneOptions, nothing, type Run } from './lane.js'
import { loadedFiles } from './loaded-files.js'
import { RULE, type Version } from './type-errors.js'

/** A change, the tests that judge it, and how much is explored and simulated. */
export interface Trial {
  name: string
  version: Version
  /** The linter refuses the change, and no test has to. */
  isRefused?: boolean
  tests: readonly TestsOfFile[]
  states: number
  schedules: number
  /** Explore and simulate also what a test has noticed? */
  always: boolean
}

export interface Verdict {
  trial: Trial
  answer: Answer
  explorer: string
  simulation: string
}

/** The same for every change, so that a run can be compared with the run before. */
export const FIRST_SEED = 1

/** Does the work for each item, in as many processes. */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  processes: number,
  options: LaneOptions,
  work: (lane: Lane, item: Item) => Promise<Result>,
): Promise<Result[]> {
  const left = [...items]
  const results: Result[] = []
  const workThrough = async () => {
    const lane = new Lane(options)
    try {
      while (left.length > 0) results.push(await work(lane, left.shift()!))
    } finally {
      lane.remove()
    }
  }
  await Promise.all(Array.from({ length: Math.min(processes, items.length) }, workThrough))
  return results
}

export function trying(repository: string): (lane: Lane, trial: Trial) => Promise<Verdict> {
  // It cannot notice a change in another file.
  const explored = loadedFiles(repository, 'scripts/model.ts')
  return (lane, trial) =>
    lane.with([trial.version], async () => {
      const answer = trial.isRefused
        ? { ...nothing('failed', ''), test: RULE }
        : trial.tests.length === 0
          ? nothing('passed', 'No test runs this code.')
          : await lane.test(trial.tests)
      const asksMore = trial.always || !isNoticed(answer)
      const isExplored = explored.has(trial.version.file)
      const found = await lane.explore(asksMore && isExplored ? trial.states : 0)
      const played = await lane.simulate(asksMore ? trial.schedules : 0, FIRST_SEED)
      const verdict = {
        trial,
        answer,
        explorer: isExplored ? told(found, /(\d+)\. .*\s*$/, (n) => `${n} events`) : 'outside',
        simulation: told(played, /--seed (\d+)/, (n) => `seed ${n}`),
      }
      console.log(row(verdict))
      return verdict
    })
}

/** A mutant that lets a test wait for ever is noticed, and so is a guard that is a deadline. */
export const isNoticed = ({ outcome }: Answer): boolean =>
  outcome === 'failed' || outcome === 'did not end'

export function row({ trial, answer, explorer, simulation }: Verdict): string {
  const { outcome, file, test, message } = answer
  const how = outcome === 'failed' ? '' : `${outcome}: ${message.split('\n', 1)[0]}`
  return [
    `${isNoticed(answer) ? '✓' : '✗ SURVIVED'} ${trial.name}`,
    `  explorer: ${explorer}  simulation: ${simulation}  ${file} ${test} ${how}`.trimEnd(),
  ].join('\n')
}

/** A number in the output of a run: what it found first. */
function told(
  { outcome, output }: Run,
  number: RegExp,
  inWords: (number: string) => string,
): string {
  if (outcome === 'passed') return '–'
  const found = outcome === 'failed' && number.exec(output)?.[1]
  return found ? inWords(found) : outcome
}
