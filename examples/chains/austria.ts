/**
 * The chain of an Austrian register (RKSV): an example of the form, and no promise that a register
 * which uses it is accepted. A link is made of the whole signed receipt, so the signature has to be
 * there when the number is taken. A card that answers later makes a chain that is the app's own.
 */
import { chain } from 'offline-hilo/consecutive/chain'

interface Receipt {
  /** `_R1-AT0_…`, with `PREVIOUS` where the link of the receipt before belongs. */
  line: string
}

/** @param sign what the signing unit made of this text, always the same */
export const rksv = (register: string, sign: (text: string) => string) =>
  chain<Receipt>({
    name: 'RKSV',
    over: 'device',
    initial: async () => eightBytes(await sha256(register)),
    encoding: eightBytes,
    text: ({ content }, previous) => sign(content.line.replace('PREVIOUS', previous)),
  })

const sha256 = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))

const eightBytes = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes.slice(0, 8)))
