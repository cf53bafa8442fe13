/** The parts of Cloudflare's types that a Durable Object and its Worker use here. */

interface SqlStorage {
  /** Rows of a statement; it runs to its end when they are read. */
  exec(text: string, ...parameters: unknown[]): Iterable<unknown>
}

export interface ObjectStorage {
  sql: SqlStorage
  /** Undoes its writes where it throws. */
  transactionSync<T>(step: () => T): T
  /** Resolves when all that was written is on disk. */
  sync(): Promise<void>
  getAlarm(): Promise<number | null>
  setAlarm(at: number): Promise<void>
}

export interface ObjectState {
  /** The name by which it was found. An older runtime does not tell it. */
  id: { name?: string | undefined }
  storage: ObjectStorage
}

/** A binding to a class of objects. */
export interface ObjectNamespace<Stub> {
  idFromName(name: string): object
  get(id: object): Stub
}
