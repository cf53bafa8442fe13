/** The back ends' own libraries that tests run beside this server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newPeer, type Peer, run } from '../../../test/support/peers.js'
import { ravenDb } from '../../../test/support/ravendb-install.js'

/** All jars of a library, in `lib`, as Maven finds them. */
function jars(name: string, title: string, libraries: readonly string[]): Peer {
  return newPeer(name, {
    title,
    registry: 'mvn',
    fill(folder) {
      const dependencies = libraries.map((library) => {
        const [group, artifact, version] = library.split(':')
        return (
          `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>` +
          `<version>${version}</version></dependency>`
        )
      })
      writeFileSync(
        join(folder, 'pom.xml'),
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
          '<groupId>test</groupId><artifactId>test</artifactId><version>1</version>' +
          `<dependencies>${dependencies.join('')}</dependencies></project>`,
      )
      run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], folder)
    },
  })
}

/** Packages of npm for a script that is run from their folder. */
function packages(name: string, title: string, ...names: readonly string[]): Peer {
  return newPeer(name, {
    title,
    registry: 'npm',
    fill(folder) {
      writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
      const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
      run('npm', ['install', ...flags, ...names], folder)
    },
  })
}

export const redisClient = packages('redis-6.3.1', 'The npm package redis 6.3.1', 'redis@6.3.1')
export const mysqlClient = packages(
  'mysql2-3.24.6',
  'The npm package mysql2 3.24.6',
  'mysql2@3.24.6',
)

export const drizzle = packages(
  'drizzle-orm-0.45.4',
  'Drizzle 0.45.4',
  'drizzle-orm@0.45.4',
  'pg@8.23.1',
)

export const django = newPeer('django-5.2.8', {
  title: 'Django 5.2.8',
  registry: 'pip',
  fill: (folder) =>
    run('python3', [
      ...['-m', 'pip', 'install', '--quiet', '--target', folder],
      ...['django==5.2.8', 'psycopg[binary]==3.2.13'],
    ]),
})

/** Hibernate's way to MariaDB. */
export const mariadbDriver = jars('mariadb-java-3.5.3', "MariaDB's Java client 3.5.3", [
  'org.mariadb.jdbc:mariadb-java-client:3.5.3',
])

export const ravenPython = newPeer('ravendb-python-7.1.5', {
  title: "RavenDB's Python client 7.1.5",
  registry: 'pip',
  fill: (folder) =>
    run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, 'ravendb==7.1.5']),
})

export const ravenJava = jars('ravendb-java-6.0.2', "RavenDB's Java client 6.0.2", [
  'net.ravendb:ravendb:6.0.2',
])

export const springData = jars('spring-data-jpa-4.1.2', 'Spring Data JPA 4.1.2', [
  'org.springframework.data:spring-data-jpa:4.1.2',
  'org.hibernate.orm:hibernate-core:7.1.0.Final',
  'org.postgresql:postgresql:42.7.7',
])

const hibernate = (version: string, group = 'org.hibernate', ...more: string[]): Peer =>
  jars(`hibernate-${version}`, `Hibernate ${version}`, [
    `${group}:hibernate-core:${version}.Final`,
    'org.postgresql:postgresql:42.7.7',
    ...more,
  ])

/** A version on each side of every change to how Hibernate counts. */
export const HIBERNATE = {
  '3.6': hibernate('3.6.10'),
  // What Java had in it when this Hibernate was new.
  '5.2.10': hibernate('5.2.10', 'org.hibernate', 'org.glassfish.jaxb:jaxb-runtime:2.3.9'),
  '5.6.7': hibernate('5.6.7'),
  '5.6.8': hibernate('5.6.8'),
  '6.6': hibernate('6.6.13', 'org.hibernate.orm'),
  '7.1': hibernate('7.1.0', 'org.hibernate.orm'),
}

export const PEERS: readonly Peer[] = [
  ravenDb,
  ravenPython,
  ravenJava,
  redisClient,
  mysqlClient,
  mariadbDriver,
  drizzle,
  django,
  springData,
  ...Object.values(HIBERNATE),
]
