/** HibernateTaker.java, compiled for a version of Hibernate, as a command. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer } from '../../../test/support/peers.js'
import { newFolder } from '../folders.js'
import type { Command } from './taker.js'

/** @returns the folder of the compiled back end; since 6 the annotations have another package. */
export function compileHibernate(version: string, { folder }: Peer): string {
  const classes = newFolder()
  const name = 'HibernateTaker.java'
  const source = readFileSync(join(import.meta.dirname, name), 'utf8')
  writeFileSync(
    join(classes, name),
    Number.parseInt(version, 10) < 6
      ? source
      : source.replaceAll('javax.persistence', 'jakarta.persistence'),
  )
  const options = ['-nowarn', '-cp', `${folder}/lib/*`, '-d', classes]
  execFileSync('javac', [...options, join(classes, name)], { stdio: 'pipe' })
  return classes
}

export const hibernateCommand = (
  classPath: readonly string[],
  url: string,
  isFirst: boolean,
  mapping: readonly string[],
): Command => ({
  program: 'java',
  args: [
    ...['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'],
    ...['-cp', classPath.join(':'), 'HibernateTaker', url, isFirst ? 'create' : ''],
    ...mapping,
  ],
})
