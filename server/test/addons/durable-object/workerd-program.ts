/** Whether npm has workerd, on which Cloudflare runs Workers, for this system. */
const SYSTEMS = ['linux x64', 'linux arm64', 'darwin x64', 'darwin arm64']

export const hasWorkerd = SYSTEMS.includes(`${process.platform} ${process.arch}`)

/** For the titles of tests. */
export const unlessWorkerd: string = hasWorkerd
  ? ''
  : ' (left out: npm has no workerd for this system)'
