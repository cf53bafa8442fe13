/** The bodies that write HiLo documents. */
import { z } from 'zod'

export const hiloDocument = z.looseObject({ Max: z.int().min(0).max(Number.MAX_SAFE_INTEGER) })

export const bulkBody = z.object({
  Commands: z.array(
    z.discriminatedUnion('Type', [
      z.object({
        Type: z.literal('PUT'),
        Id: z.string(),
        ChangeVector: z.string().nullish(),
        Document: hiloDocument,
      }),
      z.object({
        Type: z.literal('DELETE'),
        Id: z.string(),
        ChangeVector: z.string().nullish(),
      }),
    ]),
  ),
})
