/**
 * How a command changes a ledger: first it shows its plan, then somebody says yes, at the terminal
 * or with `--yes`. Guarantees that nothing is changed before.
 */
import { createInterface } from 'node:readline/promises'
import type { OperatedLedger } from '../http/operated.js'
import type {
  HandOverRefusal,
  RangeRefusal,
  Series,
  SeriesGift,
  SeriesHandOver,
} from '../ledger/ledger.js'

interface DryRun {
  dryRun: true
}

/** A ledger as a command sees it before somebody has said yes. */
export interface SeenLedger
  extends Pick<
    OperatedLedger,
    'status' | 'readName' | 'restored' | 'unlisted' | 'names' | 'seriesPage' | 'explain'
  > {
  handOverSeries(asked: SeriesHandOver & DryRun): Promise<Series | HandOverRefusal>
  giveRange(asked: SeriesGift & DryRun): Promise<Series | RangeRefusal>
}

/** The plan of a command. */
export interface Change {
  /** In sentences, for the person that has to say yes. */
  plan: string
  /** Resolves with a sentence on the change. */
  apply(ledger: OperatedLedger): Promise<string>
}

/**
 * @param yes somebody has said so with the command
 * @throws Error when nobody says yes
 */
export async function confirmed(
  { plan, apply }: Change,
  ledger: OperatedLedger,
  yes: boolean,
): Promise<string> {
  // guard: H28 what a command would do is shown before it is done
  if (yes) process.stdout.write(plan)
  else if (!(await isConfirmed(plan)))
    throw new Error(
      process.stdin.isTTY
        ? 'Nothing was changed.'
        : `${plan}Nothing was changed. To do it, add --yes.`,
    )
  return apply(ledger)
}

/** Without a terminal nobody says yes. */
async function isConfirmed(plan: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${plan}Is this right? (yes/no) `)
  terminal.close()
  return answer.trim().toLowerCase() === 'yes'
}
