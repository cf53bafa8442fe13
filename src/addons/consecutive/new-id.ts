/** A new id: of a page, a claim, a check-in. */
import { uuid } from '../../core/uuid.js'

/** (`crypto.randomUUID` is missing on pages served over plain http, H18.) */
export const newId = (): string => uuid(crypto.getRandomValues(new Uint8Array(16)), Date.now())
