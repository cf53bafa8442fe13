/**
 * The order in which files of tests run: first those that take minutes at full size, because one of
 * them that begins late runs alone at the end. Then those that wait most, so that others use the
 * cores meanwhile. Those of one project stand together: they share processes. Before, the packages
 * that they need are installed.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { withGroups } from './groups.js'
import { isFull } from './sizes.js'

const PROJECTS = ['browser', 'package', 'interop', 'unit-workerd', 'unit-isolated', 'unit']

/** Each took more than 70 seconds. */
const LONGEST = [
  'test/package/package.test.ts',
  'test/package/first-half-hour.test.ts',
  'server/test/interop/hibernate.test.ts',
  'test/model/model.test.ts',
  'test/simulation/simulation.test.ts',
  'test/processes/power-cut.test.ts',
  'server/test/crash.test.ts',
  'test/model/one-page.test.ts',
  'test/processes/processes.test.ts',
  'server/test/addons/region/kills.test.ts',
  'server/test/addons/durable-object/ledger.test.ts',
  'server/test/addons/region/etcd.test.ts',
  'server/test/pgbouncer.test.ts',
]

export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ project, moduleId }: TestSpecification) => {
      const long = isFull ? LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`)) : -1
      return long < 0 ? PROJECTS.indexOf(project.name) : long - LONGEST.length
    }
    const ready = withGroups(files, ({ project, moduleId }) => [
      moduleId,
      ...project.config.setupFiles,
    ])
    return (await super.sort(ready)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}
