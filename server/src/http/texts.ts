/**
 * Texts that came from elsewhere and that people read: names of devices, reasons. Guarantees that
 * what is stored is one line of few bytes, and that what is shown hides and moves nothing.
 */
import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { isPlain } from './query.js'

/** Bytes of UTF-8. */
export const MAX_NAME_BYTES = 128
export const MAX_REASON_BYTES = 1024

/** Can this be stored? */
export const isNote = (text: string, maxBytes: number): boolean =>
  isPlain(text) && Buffer.byteLength(text) <= maxBytes

export const text = (maxBytes: number) => z.string().refine((given) => isNote(given, maxBytes))

/** Bidirectional, zero-width and line-breaking characters as their code points. */
export const visible = (cell: string | number): string =>
  String(cell).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (hidden) => `\\u{${hidden.codePointAt(0)!.toString(16)}}`,
  )
