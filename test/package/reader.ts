/**
 * A reader of the documentation: types its commands and writes its files, in an empty folder. Both
 * packages come from their tarballs.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { start } from '../browser/process.js'
import { blocksOf } from '../docs/blocks.js'
import { newestNode } from '../processes/runtimes.js'
import { freePort } from '../support/free-port.js'
import { type Packed, REPOSITORY } from './packed.js'

/** What a reader does: types a command, or writes a file. */
export type Step = { kind: 'command'; text: string } | { kind: 'file'; path: string; text: string }

/** The text above a block says which file it is. */
export function stepsOf(page: string, heading: string, end: string): Step[] {
  const markdown = readFileSync(join(REPOSITORY, page), 'utf8')
  const from = markdown.indexOf(`\n${heading}\n`)
  const to = markdown.indexOf(`\n${end}`, from + 1)
  const section = markdown.slice(from, to < 0 ? undefined : to)
  const lines = section.split('\n')
  return blocksOf(section).flatMap(({ language, text, line }): Step[] => {
    if (language === 'sh')
      return text
        .split('\n')
        .map((command) => ({ kind: 'command', text: command.replace(/\s+#.*/, '') }))
    const above = lines.slice(Math.max(0, line - 5), line - 2).join(' ')
    const [, path] = /`([^`]+)`:\s*$/.exec(above) ?? []
    if (!path) return []
    return [{ kind: 'file', path, text }]
  })
}

/** Commands that go on running. */
const SERVER =
  /^(\w+=\S+ )?(npm (start|run dev)|node server|npx (offline-hilo-server$|wrangler dev|vite .*-))/

type Both = Record<'browser' | 'server', Packed>

export class Reader {
  #folder: string
  readonly #tarballs: Record<string, string>
  readonly #port: number
  readonly #environment: NodeJS.ProcessEnv
  /** By command: the programs that go on running, with the address that they printed. */
  readonly running = new Map<string, { url: string; kill(): Promise<void> }>()

  /** @param port where the documentation has 8080 */
  private constructor(folder: string, { browser, server }: Both, port: number) {
    this.#folder = folder
    this.#tarballs = { 'offline-hilo': browser.tarball, 'offline-hilo-server': server.tarball }
    this.#port = port
    this.#environment = {
      ...process.env,
      // What a test runner sets changes what tools do.
      NODE_ENV: undefined,
      VITEST: undefined,
      TEST: undefined,
      CI: undefined,
      PATH: [dirname(newestNode()), process.env.PATH].join(delimiter),
      HILO_PORT: String(port),
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
      // npx asks whether it may install what it runs.
      npm_config_yes: 'true',
      NEXT_TELEMETRY_DISABLED: '1',
      NG_CLI_ANALYTICS: 'false',
      WRANGLER_SEND_METRICS: 'false',
      NO_COLOR: '1',
    }
  }

  /** To be called inside a test. @param folder empty */
  static async begin(folder: string, packed: Both): Promise<Reader> {
    return new Reader(folder, packed, await freePort())
  }

  path(path: string): string {
    return join(this.#folder, path)
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'command') return this.type(step.text)
    const file = this.path(step.path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, step.text.replace(/127\.0\.0\.1:8080/, `127.0.0.1:${this.#port}`))
  }

  async type(command: string): Promise<void> {
    const [, folder] = /^cd (\S+)$/.exec(command) ?? []
    if (folder) this.#folder = join(this.#folder, folder)
    else if (SERVER.test(command)) await this.#start(command)
    else await this.#run(command)
  }

  async #start(command: string): Promise<void> {
    // The servers have theirs from the environment.
    const isServer = /offline-hilo-server|npm start|^node server/.test(command)
    // The same one each time: a page stays where it is.
    const port = command.includes('wrangler') ? this.#port : 0
    const portFlag = isServer ? '' : `${command.startsWith('npm') ? ' --' : ''} --port ${port}`
    const args = ['-c', `exec env ${command}${portFlag}`]
    const environment = { ...this.#environment, ...(isServer && { PORT: String(this.#port) }) }
    const { ready, kill } = await start(
      'sh',
      args,
      /https?:\/\/[\w.]+:\d+/,
      environment,
      this.#folder,
    )
    onTestFinished(kill)
    this.running.set(command, { url: ready![0].replace(/localhost|0\.0\.0\.0/, '127.0.0.1'), kill })
  }

  #run(command: string): Promise<void> {
    const named = (word: string) => this.#tarballs[word] ?? word
    const isInstall = command.startsWith('npm install ')
    const typed = isInstall ? command.replace(/(?<=\s)[\w-]+(?=\s|$)/g, named) : command
    const options = { cwd: this.#folder, env: this.#environment, maxBuffer: 2 ** 26 }
    return new Promise((resolve, reject) => {
      execFile('sh', ['-c', typed], options, (error, stdout, stderr) => {
        if (error) reject(new Error(`${typed} failed:\n${stdout}\n${stderr}`))
        else resolve()
      }).stdin!.end()
    })
  }
}
