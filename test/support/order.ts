/**
 * The order in which files of tests run: first those that wait most, so that others use the cores
 * meanwhile. Those of one project stand together: they share processes.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const PROJECTS = ['browser', 'package', 'unit-workerd', 'unit-isolated', 'unit']

export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}
