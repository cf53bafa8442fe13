/** A shell for the commands of a page, in which the programs that the page names are ours. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { newFolder } from '../../server/test/folders.js'
import { cliFile } from '../../server/test/processes.js'
import { blocksOf } from './blocks.js'

export interface Shell {
  folder: string
  /** Adds a program, as the text of a script of `sh`. */
  add(program: string, script: string): void
  /** Each command has to end well, and to say nothing to stderr. */
  run(lines: readonly string[]): Promise<void>
  /** @param variables beside those of this process */
  start(line: string, variables?: NodeJS.ProcessEnv): ChildProcess
}

/** The commands of each block for a shell; one that goes over several lines is one. */
export const commandsIn = (page: string): string[][] =>
  blocksOf(page)
    .filter(({ language, kind }) => kind === 'page' && ['', 'sh'].includes(language))
    .map(({ text }) => text.replaceAll(/\\\n */g, '').split('\n'))

/** `npx` runs the server of this repository there, and `offline-hilo-server` is it. */
export async function newShell(): Promise<Shell> {
  const folder = newFolder()
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(HILO_|DATABASE_URL$)/.test(name),
  )
  const env = { ...Object.fromEntries(inherited), PATH: `${bin}:${process.env.PATH}` }
  const shell: Shell = {
    folder,
    add(program, script) {
      const file = join(bin, program)
      writeFileSync(file, `#!/bin/sh\n${script}\n`)
      chmodSync(file, 0o755)
    },
    async run(lines) {
      for (const line of lines) {
        const child = shell.start(line)
        let said = ''
        child.stderr!.on('data', (text) => (said += text))
        const [code] = await once(child, 'close')
        expect([line, code, said]).toEqual([line, 0, ''])
      }
    },
    start(line, variables) {
      const child = spawn('sh', ['-c', `exec ${line}`], {
        cwd: folder,
        env: { ...env, ...variables },
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      return child
    },
  }
  const program = `exec ${process.execPath} ${await cliFile()} "$@"`
  shell.add('npx', `shift\n${program}`)
  shell.add('offline-hilo-server', program)
  return shell
}

/** @returns the address that a server says it serves, with a name that this machine answers to */
export async function addressOf(child: ChildProcess): Promise<string> {
  const said = await Promise.race([once(child.stdout!, 'data'), once(child, 'close')])
  const [, url] = /(http:\S+)/.exec(String(said[0])) ?? []
  if (!url) throw new Error(`It does not serve: ${said[0]}`)
  return url.replace('0.0.0.0', '127.0.0.1')
}
