/** The results of a fleet's day. */
export interface DayLog {
  issued: number
  /** Ids that were wanted and could not be made: offline, with nothing left. */
  refused: number
  /** Numbers that were granted, and that nobody will ever issue. */
  burnt: number
  /** That reached the server. */
  claims: number
  /** How many were issued and burnt by the end of each hour. */
  hours: { issued: number; burnt: number }[]
}

export const HOUR_MS = 3_600_000
