/** Packs both packages once, for all files of package tests. */
import { rmSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { emptyFolder, type Packed, packBoth } from './packed.js'

declare module 'vitest' {
  export interface ProvidedContext {
    packed: { browser: Packed; server: Packed }
  }
}

export default async function packOnce(project: TestProject): Promise<() => void> {
  const folder = emptyFolder()
  project.provide('packed', await packBoth(folder))
  return () => rmSync(folder, { recursive: true, force: true })
}
