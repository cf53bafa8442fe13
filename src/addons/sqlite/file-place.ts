/**
 * Is the file still where it was opened? SQLite goes on in a file that was moved, replaced or
 * deleted, and the next process opens another one: then both make the same ids. So they do where
 * the `-shm` was, by which they see each other's locks. The files are looked at and not opened:
 * closing one would drop SQLite's locks. Without Node's `fs`, nobody looks.
 */
interface Found {
  dev: bigint
  ino: bigint
  nlink: bigint
}
interface Files {
  statSync(path: string, options: { bigint: true }): Found
}
interface Runtime {
  process?: { getBuiltinModule?(name: string): Files | undefined }
}

/**
 * @param refuse throws
 * @returns refuses when the file, its log or its shared memory is not the one that was there before
 */
export function placeOf(file: string, refuse: (why: string) => never): () => void {
  const files = (globalThis as Runtime).process?.getBuiltinModule?.('node:fs')
  const look = (path: string) => {
    try {
      return files?.statSync(path, { bigint: true })
    } catch {
      return undefined // Nothing is there, or Deno may not look.
    }
  }
  // guard: H30 a file with two names is no store's
  if (Number(look(file)?.nlink ?? 1) > 1)
    refuse('its file has two names (hard links), and each would have a log of its own')
  const seen = new Map<string, string>()
  return () => {
    for (const path of [file, `${file}-wal`, `${file}-shm`]) {
      const found = look(path)
      const now = found && `${found.dev}/${found.ino}`
      // guard: H30 a store's file that the next start will not find gives no id
      if (now !== (seen.get(path) ?? now))
        refuse('its file, -wal or -shm was moved, replaced or deleted: put it back, or start again')
      if (now) seen.set(path, now)
    }
  }
}
