/** What a library that makes every id in its worker costs: a counter behind Comlink. */
import { expose } from 'comlink'

let counter = 0
const ids = { nextId: () => `orders/${counter++}-A` }
export type Ids = typeof ids
expose(ids)
