/**
 * The chain of hashes of Saudi Arabia's invoices: an example of the form. The app makes the
 * canonical XML, and stamps and sends it; no promise that an invoice is accepted.
 */
import { chain } from 'offline-hilo/consecutive/chain'

/** In base64 the lower hex text of SHA-256 of `0`; each later one is that of the 32 bytes. */
const FIRST =
  'NWZlY2ViNjZmZmM4NmYzOGQ5NTI3ODZjNmQ2OTZjNzljMmRiYzIzOWRkNGU5MWI0NjcyOWQ3M2EyN2ZiNTdlOQ=='

interface Invoice {
  /** Canonical (C14N 1.1), with `PREVIOUS` where the hash of the invoice before belongs. */
  xml: string
}

export const saudiArabia = chain<Invoice>({
  name: 'Saudi Arabia, hash of the invoice',
  over: 'device',
  encoding: 'base64',
  initial: FIRST,
  text: ({ content }, previous) => content.xml.replace('PREVIOUS', previous),
})
