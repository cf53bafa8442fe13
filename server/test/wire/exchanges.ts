/** All exchanges that this server is compared with RavenDB by. */
import { claims } from './claims.js'
import { documents } from './documents.js'
import type { Exchange } from './exchange.js'
import { others } from './others.js'
import { returns } from './returns.js'

export const EXCHANGES: readonly Exchange[] = [...claims, ...returns, ...documents, ...others]
