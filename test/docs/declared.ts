/**
 * What a declaration of the sources says of its members: name, type, default and doc comment. An
 * exported type is found by its name, in the file that declares it.
 */
import { readFileSync } from 'node:fs'
import { type Class, type Node, parseSync, type TSInterfaceDeclaration, Visitor } from 'oxc-parser'

export interface Member {
  /** As one writes it: `reserve`, or `nextIds(collection, count, options?)`. */
  name: string
  isRequired: boolean
  /** As the sources write it; of a field alone. */
  type: string | undefined
  /** With the types of its parameters and of what it returns; of a method or a getter. */
  signature: string | undefined
  /** In plain sentences, without the default and without `@throws`. */
  says: string
  /** What the comment says after "Default". */
  default: string | undefined
}

/** @throws Error when the file has no such type, or a member has no comment */
export function membersOf(file: URL, type: string): Member[] {
  const text = readFileSync(file, 'utf8')
  const { program, comments } = parseSync(file.pathname, text)
  const members: Node[] = []
  new Visitor({
    TSInterfaceDeclaration: (node) => node.id.name === type && members.push(...node.body.body),
    ClassDeclaration: (node) => node.id?.name === type && members.push(...publicOf(node, text)),
    TSTypeAliasDeclaration: (node) => {
      if (node.id.name !== type || node.typeAnnotation.type !== 'TSUnionType') return
      members.push(...node.typeAnnotation.types)
    },
  }).visit(program)
  if (members.length === 0) throw new Error(`${file.pathname} declares no ${type} with members.`)
  return members.flatMap((node) => {
    const comment = comments.find(
      ({ end }) => end <= node.start && /^[\s|]*$/.test(text.slice(end, node.start)),
    )
    const shown = nameOf(node, text)
    const said = plain(comment?.value ?? '')
    if (/@internal/.test(said)) return []
    if (said === '') throw new Error(`${type}.${shown} in ${file.pathname} has no comment.`)
    const isRequired = !('optional' in node && node.optional)
    const member = { name: shown, isRequired, type: typeOf(node, text) }
    return [{ ...member, signature: signatureOf(node, text), ...parted(said) }]
  })
}

type Members = TSInterfaceDeclaration['body']['body'] | Class['body']['body']

/** Of a method with overloads, these; the last one, which has the body, is not public. */
function publicOf({ body: { body } }: Class, text: string): Members[number][] {
  const keyOf = (node: Node) =>
    'key' in node && node.key ? text.slice(node.key.start, node.key.end) : ''
  const overloaded = new Set(
    body.filter((node) => node.type === 'MethodDefinition' && !node.value.body).map(keyOf),
  )
  return body.filter(
    (node) =>
      (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition') &&
      /^[a-z]/.test(keyOf(node)) &&
      // An inherited method with a type of its own.
      !('declare' in node && node.declare && !node.readonly) &&
      !('override' in node && node.override) &&
      keyOf(node) !== 'constructor' &&
      !(node.type === 'MethodDefinition' && node.value.body && overloaded.has(keyOf(node))),
  )
}

function nameOf(node: Node, text: string): string {
  if (node.type === 'TSLiteralType') return text.slice(node.start + 1, node.end - 1)
  if (!('key' in node) || !node.key) throw new Error(`Not a member: ${node.type}`)
  const key = text.slice(node.key.start, node.key.end)
  const params =
    node.type === 'MethodDefinition'
      ? node.value.params
      : node.type === 'TSMethodSignature'
        ? node.params
        : undefined
  if (!params) return key
  const shown = params.map((each) =>
    each.type === 'Identifier' ? `${each.name}${each.optional ? '?' : ''}` : '…',
  )
  return `${key}(${shown.join(', ')})`
}

function typeOf(node: Node, text: string): string | undefined {
  if (node.type !== 'TSPropertySignature' || !node.typeAnnotation) return undefined
  const { start, end } = node.typeAnnotation.typeAnnotation
  return text.slice(start, end)
}

function signatureOf(node: Node, text: string): string | undefined {
  if (node.type !== 'MethodDefinition') return undefined
  const { start, end } = node.value.returnType!
  const [name, params] = [node.key, text.slice(node.key.end, start)]
  const inOneLine = params.replace(/\s+/g, ' ').replace('( ', '(').replace(/, \)$/, ')')
  const shown = node.kind === 'get' ? '' : inOneLine
  return text.slice(name.start, name.end) + shown + text.slice(start, end)
}

/** Without asterisks, `{@link …}`, and what begins with another `@`. */
const plain = (comment: string): string =>
  comment
    .replace(/^\s*\* ?/gm, '')
    .replace(/\{@link (?:Hilo\.)?([^}]+)\}/g, '`$1`')
    .replace(/\n@(?!internal)[\s\S]*/, '')
    .replace(/\s+/g, ' ')
    .trim()

function parted(said: string): Pick<Member, 'says' | 'default'> {
  const [sentence, value] = /(?:^|(?<= ))Default:? (.+?)(?:\.|;)(?= |$)/.exec(said) ?? []
  if (sentence === undefined) return { says: said, default: undefined }
  const says = said.replace(sentence, '').replace(/\s+/g, ' ').trim()
  return { says: says.charAt(0).toUpperCase() + says.slice(1), default: value }
}
