/**
 * Looks whether a tag may be released: it is the version of both packages, and both say which
 * repository they come from, as provenance and the trusted publisher need it, and where people read
 * and ask. It needs nothing installed.
 */
import { readFileSync } from 'node:fs'

const { GITHUB_REF_NAME: tag, GITHUB_REPOSITORY: repository } = process.env
const problems = []
for (const file of ['package.json', 'server/package.json']) {
  const { version, repository: named, homepage, bugs } = JSON.parse(readFileSync(file, 'utf8'))
  if (`v${version}` !== tag)
    problems.push(`${file} has the version ${version}, and the tag is ${tag}.`)
  const url = String(named?.url ?? named)
  if (!url.replace(/\.git$/, '').endsWith(`/${repository}`))
    problems.push(
      `${file} has ${named ? `the repository ${url}` : 'no repository'}, and this is ` +
        `${repository}. Set repository, homepage and bugs: RELEASING.md.`,
    )
  for (const [field, value] of Object.entries({ homepage, bugs }))
    if (!value) problems.push(`${file} has no ${field}: RELEASING.md.`)
}
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
