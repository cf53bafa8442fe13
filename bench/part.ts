/** A bench: its name on the command line, and a run that prints its tables. */
export interface Part {
  name: string
  title: string
  /** The folders whose code it measures. */
  measures: readonly string[]
  run(context: Context): Promise<void>
}

export interface Context {
  /** Run it only to show that it works. */
  isQuick: boolean
  /** Also measure what takes many minutes. */
  isFull: boolean
  print(text: string): void
  /** A row of the table of goals: what is measured, the goal, and the result. */
  goal(what: string, aim: string, figures: string): void
}
