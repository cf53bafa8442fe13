/** Where workerd is, on which Cloudflare runs Workers: npm has it for some systems. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'

const PACKAGES: Record<string, string> = {
  'linux x64': 'linux-64',
  'linux arm64': 'linux-arm64',
  'darwin x64': 'darwin-64',
  'darwin arm64': 'darwin-arm64',
}

/** Undefined where npm has no workerd for this system, or it is not installed. */
export const WORKERD: string | undefined = find()

/** For the titles of tests. */
export const unlessWorkerd: string = WORKERD
  ? ''
  : ' (left out: npm has no workerd for this system)'

function find(): string | undefined {
  const name = PACKAGES[`${process.platform} ${process.arch}`]
  try {
    const file = createRequire(import.meta.url).resolve(`@cloudflare/workerd-${name}/bin/workerd`)
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}
