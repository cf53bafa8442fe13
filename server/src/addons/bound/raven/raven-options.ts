/** How to reach the RavenDB that a collection's ranges come from, checked. */
import { z } from 'zod'
import { type Checks, databaseName, publicUrl } from '../../../ledger/option-checks.js'
import { tlsFiles } from '../../upstream/request.js'

/** The server claims the collection's ranges from a RavenDB, and grants parts of them. */
export interface RavenOptions {
  upstream: {
    /**
     * Any node of the cluster: `https://a.shop.ravendb.example`. The others are found by its
     * topology.
     */
    url: string
    database: string
    /** The collection's name there. Default: as here. */
    tag?: string | undefined
    /** The client certificate, as files in PEM, which RavenDB hands out as `.crt` and `.key`. */
    certificate?: { cert: string; key: string } | undefined
    /** The certificate authority of the server, a file in PEM. Default: those that Node trusts. */
    ca?: string | undefined
  }
}

export const ravenSettings = z.strictObject({
  upstream: z.strictObject({
    url: publicUrl,
    database: databaseName,
    tag: z.string().min(1, 'is empty: leave it out').optional(),
    ...tlsFiles,
  } satisfies Checks<RavenOptions['upstream']>),
} satisfies Checks<RavenOptions>)

export type Raven = z.output<typeof ravenSettings>['upstream']

/** A RavenDB, and the collection's name there. */
export type RavenAddress = Raven & { tag: string }
