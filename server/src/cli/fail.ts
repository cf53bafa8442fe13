/** How a command says that it failed: its message on stderr, and 1 as the exit code. */
export function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
