/**
 * Where this server answers otherwise than RavenDB, on purpose. Each title begins an item under
 * "Differences from RavenDB" in docs/ravendb.md.
 */
import { changes } from './changes.js'
import { refusals } from './refusals.js'
import type { Answered } from './words.js'

export interface Difference {
  title: string
  /**
   * What this server answers, by exchange and request. A function changes RavenDB's answer, and
   * leaves it where the difference is none of that request's.
   */
  answers: Record<string, Answered> | ((raven: Answered, request: string) => Answered)
}

export const DIFFERENCES: readonly Difference[] = [...changes, ...refusals]
