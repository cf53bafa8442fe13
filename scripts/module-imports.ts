/**
 * Lists the imports of one module, in JavaScript, TypeScript or a declaration file, each with its
 * line and with what it means at run time.
 */
import { type ImportDeclaration, parseSync, Visitor } from 'oxc-parser'

export interface ModuleImport {
  specifier: string
  line: number
  /**
   * `type`: gone at run time. `dynamic`: loaded on demand. `worker`: `new URL('…',
   * import.meta.url)`, a file started apart.
   */
  kind: 'static' | 'type' | 'dynamic' | 'worker'
}

/** @throws Error when the text does not parse, or an `import()` is not of a plain string */
export function moduleImports(fileName: string, text: string): ModuleImport[] {
  const { program, errors } = parseSync(fileName, text)
  if (errors.length > 0) throw new Error(`${fileName}: ${errors[0]!.message}`)
  const found: ModuleImport[] = []
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const add = (
    node: { start: number },
    source: { value?: unknown } | null,
    kind: ModuleImport['kind'],
  ) => {
    if (!source) return
    if (typeof source.value !== 'string')
      throw new Error(
        `${fileName}:${lineOf(node.start)}: the path in import() must be a plain string`,
      )
    found.push({ specifier: source.value, line: lineOf(node.start), kind })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node, node.source, isTypeImport(node) ? 'type' : 'static'),
    ExportNamedDeclaration: (node) => {
      const isType =
        node.exportKind === 'type' ||
        (node.specifiers.length > 0 && node.specifiers.every((each) => each.exportKind === 'type'))
      add(node, node.source, isType ? 'type' : 'static')
    },
    ExportAllDeclaration: (node) =>
      add(node, node.source, node.exportKind === 'type' ? 'type' : 'static'),
    ImportExpression: (node) => add(node, node.source as { value?: unknown }, 'dynamic'),
    TSImportType: (node) => add(node, node.source, 'type'),
    NewExpression: (node) => {
      const [path, base] = node.arguments
      const isRelativeToModule =
        base?.type === 'MemberExpression' && base.object.type === 'MetaProperty'
      if (node.callee.type === 'Identifier' && node.callee.name === 'URL' && isRelativeToModule)
        add(node, path as { value?: unknown }, 'worker')
    },
  }).visit(program)
  return found
}

/**
 * `import {} from 'x'` runs x. `import { type A } from 'x'` also does, under
 * `verbatimModuleSyntax`, but bundlers leave it out.
 */
function isTypeImport(node: ImportDeclaration): boolean {
  if (node.importKind === 'type') return true
  return (
    node.specifiers.length > 0 &&
    node.specifiers.every((each) => each.type === 'ImportSpecifier' && each.importKind === 'type')
  )
}
