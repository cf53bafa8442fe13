/**
 * What the build leaves out of the browser's libraries, because nothing here uses it. Guarantees
 * that a library of another form fails the build: then somebody has to look again.
 */
import type { Plugin } from 'rolldown'

interface Cut {
  /** Matches once, or as often as `times` says. */
  what: RegExp
  times?: number
  /** Default: nothing. */
  by?: string
}

const LIBRARIES: { module: RegExp; cuts: Cut[] }[] = [
  {
    module: /\/idb\/build\/index\.js$/,
    cuts: [
      // Methods without a transaction, and iterators.
      { what: /^(?=replaceTraps\()/gm, times: 2, by: '/* @__PURE__ */ ' },
      // It moves a cursor on.
      { what: /getCursorAdvanceMethods\(\)\.includes\(func\)/g, by: 'false' },
      // Answers to `in` and to an assignment.
      { what: /^ {4}set\(target.*?^ {4}},\n {4}has\(target.*?^ {4}},\n/gms },
      { what: /^ {12}if \(prop === 'store'\).*?^ {12}}\n/gms },
      // Listeners of a request or a transaction that is over hear nothing any more.
      { what: /^ {8}const unlisten = .*?^ {8}};\n/gms, times: 2 },
      { what: /^ {12}unlisten\(\);\n/gm, times: 4 },
      // Arguments that nobody reads, and events that nobody listens to.
      { what: /, event\.oldVersion, event\.newVersion, wrap\(request\.transaction\), event/g },
      { what: /^ {4}if \(blocked\).*?^ {4}}\n/gms, times: 2 },
      { what: /^ {8}if \(terminated\)\n.*?;\n/gms },
    ],
  },
  {
    // A page and its worker call functions of each other: all else is a way to do something else.
    module: /\/comlink\/dist\/esm\/comlink\.mjs$/,
    cuts: [
      // Every message comes from the other one's port.
      { what: /^ {8}if \(!isAllowedOrigin.*?^ {8}}\n/gms },
      { what: /, allowedOrigins = \["\*"\]/g },
      // A field that is read or written, a class, and a second port.
      { what: /^ {16}case "(GET|SET|CONSTRUCT|ENDPOINT|RELEASE)".*?break;\n/gms, times: 5 },
      { what: /^ {16}const r = requestResponse.*?r\.then\.bind\(r\);\n/gms },
      { what: /^ {8}(set|construct)\(_target.*?^ {8}},\n/gms, times: 2 },
      { what: /^ {12}if \(last === createEndpoint\).*?^ {12}}\n/gms },
      { what: /^ {12}if \(last === "bind"\).*?^ {12}}\n/gms },
      { what: /^ {12}const last = .*?;\n/gm },
      { what: /transferCache\.get\(value\) \|\| /g },
      // An end of calls: the page ends the worker instead.
      { what: /^ {12}if \(type === "RELEASE".*?^ {12}}\n/gms },
      { what: /^ {12}if \(prop === releaseProxy\).*?^ {12}}\n/gms },
      { what: /^ +throwIfProxyReleased\(isProxyReleased\);\n/gm, times: 2 },
      { what: /^ {4}registerProxy\(proxy, ep\);\n/gm },
      { what: /^const proxyFinalizers =.*?^ {4}}\);\n/gms },
    ],
  },
]

export const withoutUnused = (): Plugin => ({
  name: 'without-unused',
  transform(code, id) {
    const library = LIBRARIES.find(({ module }) => module.test(id))
    return library ? library.cuts.reduce((left, cut) => leaveOut(left, cut, id), code) : null
  },
})

function leaveOut(code: string, { what, times = 1, by = '' }: Cut, id: string): string {
  if (code.match(what)?.length !== times)
    throw new Error(`${id} has another form now: see what of it is not used. (${what})`)
  return code.replace(what, by)
}
