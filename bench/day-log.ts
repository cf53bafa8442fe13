/** The results of a fleet's day. */
export interface DayLog {
  issued: number
  /** Ids that could not be made, because the device was offline and had none left. */
  refused: number
  /** Numbers that were granted, and that nobody will ever issue. */
  burnt: number
  /** Requests for ids that reached the server. */
  requests: number
  /** Ids that were issued before. */
  duplicates: number
  /** The highest number in an id. */
  highest: number
}

export function issue(log: DayLog, issued: Set<string>, id: string): void {
  log.issued++
  if (issued.has(id)) log.duplicates++
  issued.add(id)
  log.highest = Math.max(log.highest, Number(/\d+(?=\D*$)/.exec(id)![0]))
}

export const newDayLog = (): DayLog => ({
  issued: 0,
  refused: 0,
  burnt: 0,
  requests: 0,
  duplicates: 0,
  highest: 0,
})
