/** How to reach the RavenDB that a collection's ranges come from, checked. */
import { z } from 'zod'
import { databaseName, publicUrl } from '../../ledger/options.js'

/** The server claims the collection's ranges from a RavenDB, and grants parts of them. */
export interface UpstreamOptions {
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

const file = z.string().min(1, 'is empty: name a file in PEM')

/** As an upstream's certificates are given. */
export const tlsFiles = {
  certificate: z
    .strictObject(
      { cert: file, key: file },
      'needs two files: {"cert": "client.crt", "key": "client.key"}',
    )
    .optional(),
  ca: file.optional(),
}

export const upstreamSettings = z.strictObject({
  upstream: z.strictObject({
    url: publicUrl,
    database: databaseName,
    tag: z.string().min(1, 'is empty: leave it out').optional(),
    ...tlsFiles,
  }),
})

export type Upstream = z.output<typeof upstreamSettings>['upstream']

/** An upstream whose collection has its name. */
export type UpstreamAddress = Upstream & { tag: string }
