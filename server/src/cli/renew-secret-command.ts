/**
 * The command `renew-secret`: for a copy of a ledger that serves other devices than the original,
 * and for a ledger of which a backup got into wrong hands.
 * It does nothing without `--yes`.
 */
import type { Command } from 'commander'
import { ledgerCommand } from './flags.js'
import { report } from './ledger-commands.js'

export const renewSecretCommand = (): Command =>
  ledgerCommand('renew-secret', 'Give a ledger a new secret: a test copy, or after a leak.')
    .option('--yes', 'do it, instead of saying only what it means')
    .action(({ yes }: { yes?: boolean }, command: Command) =>
      // Works also while the counters of bound collections cannot be used.
      report(command, { collections: undefined }, async (ledger) => {
        if (!yes)
          throw new Error(
            'Nothing was changed. With a new secret, a ledger knows none of the grant tokens ' +
              'that it has signed. That is right for a copy that serves other devices, such as a ' +
              'test copy: its tokens then stop no database of the original. It is right, too, if ' +
              'a backup got into wrong hands: whoever has it can sign tokens. Otherwise it is ' +
              'wrong for a ledger that goes on serving its devices, also after a restore: it ' +
              'could not notice any more that it is an older copy. Stop the servers of the ' +
              'ledger, and add --yes.',
          )
        await ledger.renewSecret()
        return (
          'The ledger has a new secret. Its servers sign with it from their next start on. Grant ' +
          'tokens of before are unknown here.\n'
        )
      }),
    )
