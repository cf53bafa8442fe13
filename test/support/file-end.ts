/**
 * What is to be undone at the end of a file of tests. Files share the modules that they import, so
 * a hook in such a module would run for the first file only.
 */

const undoings: (() => unknown)[] = []

/** To be called while a file runs. The last comes first. */
export function atFileEnd(undo: () => unknown): void {
  undoings.push(undo)
}

/** Undoes everything, also where one of them fails; then rejects with the first failure. */
export async function endFile(): Promise<void> {
  const failures: unknown[] = []
  for (const undo of undoings.splice(0).reverse()) {
    try {
      await undo()
    } catch (failure) {
      failures.push(failure)
    }
  }
  if (failures.length > 0) throw failures[0]
}
