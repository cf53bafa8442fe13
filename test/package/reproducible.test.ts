/** Who builds the sources again gets the same packages, byte for byte, in whatever folder. */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyFolder, execute, REPOSITORY } from './packed.js'

/** All that a build reads. */
const PARTS = [
  'src',
  'server',
  'scripts',
  'docs',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
]

test('two builds of the packages are equal', async () => {
  const again = emptyFolder()
  onTestFinished(() => rmSync(again, { recursive: true, force: true }))
  const isSource = (path: string) => !/[\\/](dist|node_modules|test)$/.test(path)
  for (const part of [...PARTS, 'LICENSE', 'CHANGELOG.md', 'ThirdPartyNotices.txt'])
    cpSync(join(REPOSITORY, part), join(again, part), { recursive: true, filter: isSource })
  symlinkSync(join(REPOSITORY, 'node_modules'), join(again, 'node_modules'))
  await execute(process.execPath, ['--import', 'tsx', 'scripts/build.ts'], again)
  for (const dist of ['dist', 'server/dist']) {
    const files = filesIn(join(again, dist))
    expect(files.length).toBeGreaterThan(10)
    expect(files).toEqual(filesIn(join(REPOSITORY, dist)))
    for (const file of files)
      expect(readFileSync(join(again, dist, file)), `${dist}/${file}`).toEqual(
        readFileSync(join(REPOSITORY, dist, file)),
      )
  }
})

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()
