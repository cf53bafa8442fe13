/**
 * Which versions of SQLite lose commits: where two processes checkpoint one file in WAL mode while
 * one of them commits, pages of that commit can be lost (sqlite.org/wal.html, "the WAL-reset bug").
 */

type Version = readonly [major: number, minor: number, patch: number]

const FIRST_WITH_WAL: Version = [3, 7, 0]
const MENDED: Version = [3, 51, 3]
/** Mended releases of older lines. */
const MENDED_LINES: readonly Version[] = [
  [3, 44, 6],
  [3, 50, 7],
]

/** @param version as `sqlite_version()` tells it, `3.51.3` */
export function losesCommits(version: string): boolean {
  const found = version.split('.').map(Number)
  const line = MENDED_LINES.find(([major, minor]) => major === found[0] && minor === found[1])
  return !isBefore(found, FIRST_WITH_WAL) && isBefore(found, line ?? MENDED)
}

/** Text that is no version is before none. */
function isBefore(version: readonly number[], limit: Version): boolean {
  const at = limit.findIndex((part, index) => (version[index] ?? 0) !== part)
  return at >= 0 && (version[at] ?? 0) < limit[at]!
}
