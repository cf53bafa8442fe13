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
        return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`
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

export const ravenPython = newPeer('ravendb-python-7.1.5', {
  title: "RavenDB's Python client 7.1.5",
  registry: 'pip',
  fill: (folder) =>
    run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, 'ravendb==7.1.5']),
})

export const ravenJava = jars('ravendb-java-6.0.2', "RavenDB's Java client 6.0.2", [
  'net.ravendb:ravendb:6.0.2',
])

export const PEERS: readonly Peer[] = [ravenDb, ravenPython, ravenJava]
