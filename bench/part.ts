/** What every bench is: a name to ask for it by, and a run that prints its tables. */
export interface Part {
  name: string
  title: string
  run(context: Context): Promise<void>
}

export interface Context {
  /** Only shows that it works. */
  isQuick: boolean
  /** Also what takes an hour. */
  isFull: boolean
  /** Folder for plots. */
  images: string
  print(text: string): void
}
