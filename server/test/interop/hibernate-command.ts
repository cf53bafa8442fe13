/** Back ends in Java, compiled for a version of their libraries, and Hibernate's as a command. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer } from '../../../test/support/peers.js'
import { newFolder } from '../folders.js'
import type { Command } from './taker.js'

/** @returns the folder of the compiled back end; since 6 the annotations have another package. */
export const compileHibernate = (version: string, peer: Peer): string =>
  compileJava('HibernateTaker.java', peer, (source) =>
    Number.parseInt(version, 10) < 6
      ? source
      : source.replaceAll('javax.persistence', 'jakarta.persistence'),
  )

/** @returns the folder of the compiled back end */
export function compileJava(
  name: string,
  { folder }: Peer,
  changed = (source: string) => source,
): string {
  const classes = newFolder()
  const source = readFileSync(join(import.meta.dirname, name), 'utf8')
  writeFileSync(join(classes, name), changed(source))
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
