/** A Worker of the tests in the real workerd: bundled, started, killed, started again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { build } from 'rolldown'
import { atFileEnd } from '../../../../test/support/file-end.js'
import { newFolder } from '../../folders.js'

const bundles = new Map<string, Promise<string>>()

/** The same, made once. */
function bundleOf(file: string): Promise<string> {
  const bundle = bundles.get(file) ?? makeBundle(file)
  bundles.set(file, bundle)
  return bundle
}

/** The Worker of `file` in one module, as wrangler bundles it. Nothing stands in for a module. */
async function makeBundle(file: string): Promise<string> {
  const { output } = await build({
    input: new URL(file, import.meta.url).pathname,
    platform: 'neutral',
    external: [/^node:/, /^cloudflare:/],
    resolve: {
      conditionNames: ['workerd', 'worker', 'browser', 'import'],
      mainFields: [],
      extensionAlias: { '.js': ['.ts', '.js'] },
      alias: {
        'offline-hilo-server/durable-object': new URL(
          '../../../src/addons/durable-object/index.ts',
          import.meta.url,
        ).pathname,
      },
    },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`rolldown: ${log.message}`)
    },
    output: { codeSplitting: false },
    write: false,
  })
  return output[0].code
}

const configOf = (
  folder: string,
  { port = 0, objects = { HILO: 'HiloDatabase' }, options = {}, variables = {} }: WorkerdOptions,
): string => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "disk", disk = (path = "${folder}/disk", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "main", esModule = embed "main.js")],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [
${lines(objects, (_, name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`)}
  ],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [
    (name = "OPTIONS", json = ${JSON.stringify(JSON.stringify(options))}),
${lines(objects, (name, object) => `(name = "${name}", durableObjectNamespace = "${object}")`)}
${lines(variables, (name, text) => `(name = "${name}", text = "${text}")`)}
  ],
);`

const lines = (
  entries: Record<string, string>,
  line: (name: string, value: string) => string,
): string =>
  Object.entries(entries)
    .map(([name, value]) => `    ${line(name, value)},`)
    .join('\n')

export interface Workerd {
  url: string
  /** Where the objects' SQLite files are. */
  disk: string
  /** All that it printed. */
  output(): string
  kill(): Promise<void>
}

export interface WorkerdOptions {
  /** The Worker's source, beside this file. */
  source?: string
  /** By binding, the classes of its objects. */
  objects?: Record<string, string>
  /** What the Worker finds in `env.OPTIONS`. */
  options?: object
  /** What it finds in `env` by name. */
  variables?: Record<string, string>
  /** With the bundle and the disk of an earlier start. */
  folder?: string
  port?: number
  /** Before the program, as `sh -c 'ulimit …'`. */
  under?: string[]
}

export async function startWorkerd(
  given: WorkerdOptions = {},
): Promise<Workerd & { folder: string }> {
  const { source = './hilo-worker.ts', folder = newFolder(), under = [] } = given
  const bundle = join(folder, 'main.js')
  if (!existsSync(bundle)) writeFileSync(bundle, await bundleOf(source))
  mkdirSync(join(folder, 'disk'), { recursive: true })
  writeFileSync(join(folder, 'config.capnp'), configOf(folder, given))
  const [program, ...args] = [...under, programOf(), 'serve', '--control-fd=3']
  const child = spawn(program!, [...args, join(folder, 'config.capnp')], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  atFileEnd(() => killed(child))
  let printed = ''
  for (const stream of [child.stdout, child.stderr] as Readable[])
    stream.on('data', (data) => {
      printed += data
    })
  const [line] = await Promise.race([
    once(createInterface(child.stdio[3] as Readable), 'line'),
    once(child, 'exit').then(() => {
      throw new Error(`workerd did not start: ${printed}`)
    }),
  ])
  return {
    url: `http://127.0.0.1:${JSON.parse(line).port}`,
    folder,
    disk: join(folder, 'disk'),
    output: () => printed,
    kill: () => killed(child),
  }
}

/** It has no types. */
function programOf(): string {
  const require = createRequire(import.meta.url)
  return require('workerd').default
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
