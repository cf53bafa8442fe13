/**
 * Mistakes that the functions of a module could have: a bound by one, a part of a condition
 * dropped, a comparison turned, an `await` or a statement gone, two arguments swapped. Each is a
 * change at one place. Its name is made of its code, without lines: it stays the same when other
 * code changes.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path/posix'
import { parseSync } from 'oxc-parser'

export interface Mutant {
  /** Its file, the function around it, and its code before and after. */
  name: string
  file: string
  /** Where the changed code begins and ends in the source. */
  start: number
  end: number
  instead: string
  /** The expression or statement that is run if that code is. */
  probed: Probed
}

interface Probed {
  start: number
  end: number
  isStatement: boolean
}

/** Of the parser's tree. What follows `end` is there where its type has it. */
interface Node {
  type: string
  start: number
  end: number
  operator: string
  left: Node
  right: Node
  argument: Node
  value: unknown
  test: Node
  consequent: Node
  alternate: Node | null
  body: Node[]
  expression: Node
  callee: Node
  arguments: Node[]
  init: Node | null
  id: Node | null
  key: Node
}

interface Change {
  /** What becomes something else. */
  node: Pick<Node, 'start' | 'end'>
  instead: string
  /** What is run if it is. The same, if absent. */
  probed?: Node
}

const BY_ONE: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
/** By how much a literal on the right moves such a bound the other way. */
const OTHER_WAY: Record<string, number> = { '<': -1, '<=': 1, '>': 1, '>=': -1 }
const TURNED: Record<string, string> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '===': '!==',
  '!==': '===',
}
/** They judge the stores of others. A weaker check changes nothing that the product does. */
const CHECKS = 'src/store/testing.ts'
const LEAVES = ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement']
const DOES = ['CallExpression', 'AssignmentExpression', 'UpdateExpression', 'UnaryExpression']
const ANY_ORDER = /^Math\.(?:max|min)$/
const NAMED = ['FunctionDeclaration', 'MethodDefinition', 'PropertyDefinition']
const FUNCTIONS = ['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration']

/** @param source a file of the repository, or a folder with all that is in it */
export const mutantsIn = (repository: string, source: string): Mutant[] =>
  filesOf(repository, source).flatMap((file) =>
    mutantsOf(file, readFileSync(join(repository, file), 'utf8')),
  )

function filesOf(repository: string, source: string): string[] {
  if (source.endsWith('.ts')) return [source]
  return readdirSync(join(repository, source), { recursive: true, encoding: 'utf8' })
    .map((path) => `${source}/${path}`)
    .filter((file) => file.endsWith('.ts') && file !== CHECKS)
}

/** @throws Error when the source does not parse */
export function mutantsOf(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  const found: Mutant[] = []
  const seen = new Map<string, number>()
  const visit = (node: Node, around: string, isInFunction: boolean, within?: Node) => {
    const scope = nameOf(node, source) ?? around
    const statement = node.type === 'ExpressionStatement' ? node : within
    const changes = isInFunction ? changesOf(node, source) : []
    for (const { node: changed, instead, probed = node } of changes) {
      const { start, end } = changed
      const place = scope ? `${file} ${scope}` : file
      const name = `${place}: ${short(source.slice(start, end))} → ${short(instead)}`
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      found.push({
        name: times > 1 ? `${name} (${times})` : name,
        file,
        start,
        end,
        instead,
        probed: probedIn(statement, probed),
      })
    }
    for (const child of Object.values(node).flat())
      if (isNode(child)) visit(child, scope, isInFunction || isFunction(node), statement)
  }
  visit(program as unknown as Node, '', false)
  return found
}

/**
 * Those that a seed draws. A mutant is drawn by its name: the others that are drawn stay the same
 * when code changes.
 */
export function drawn(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const lot = ({ name }: Mutant) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  const lots = mutants.map((mutant) => [lot(mutant), mutant] as const)
  lots.sort(([a], [b]) => (a < b ? -1 : 1))
  return lots.slice(0, count).map(([, mutant]) => mutant)
}

/** Without semicolons, an expression in parentheses cannot begin a statement. */
function probedIn(statement: Node | undefined, node: Node): Probed {
  const { start, end, type } = node.start === statement?.start ? statement : node
  return { start, end, isStatement: type.endsWith('Statement') }
}

function changesOf(node: Node, source: string): Change[] {
  const text = ({ start, end }: Node) => source.slice(start, end)
  switch (node.type as string) {
    case 'BinaryExpression':
      return binaryChanges(node, text, source)
    case 'LogicalExpression': {
      const isCondition = node.operator !== '??'
      return isCondition
        ? [node.left, node.right].map((part) => ({ node, instead: text(part) }))
        : []
    }
    case 'AwaitExpression':
      return [{ node, instead: text(node.argument) }]
    case 'UnaryExpression': {
      const isDouble = node.argument.operator === '!'
      return node.operator === '!' && !isDouble ? [{ node, instead: text(node.argument) }] : []
    }
    case 'IfStatement':
    case 'ConditionalExpression': {
      const { test } = node
      const has = ['BinaryExpression', 'LogicalExpression', 'UnaryExpression'].includes(test.type)
      const negated = { node: test, instead: `!(${text(test)})`, probed: test }
      return [...(has ? [] : [negated]), ...(leaves(node) ? [{ node, instead: '{}' }] : [])]
    }
    case 'ExpressionStatement':
      return does(node.expression) ? [{ node, instead: '{}' }] : []
    case 'CallExpression':
    case 'NewExpression':
      return ANY_ORDER.test(text(node.callee)) ? [] : swaps(node.arguments, text, source)
    default:
      return []
  }
}

function binaryChanges(node: Node, text: (node: Node) => string, source: string): Change[] {
  const { operator } = node
  const sides = [node.left, node.right]
  const [left, right] = sides.map(text) as [string, string]
  const between = source.slice(node.left.end, node.right.start)
  const changes: Change[] = []
  for (const other of [BY_ONE[operator], TURNED[operator]])
    if (other) changes.push({ node, instead: left + between.replace(operator, other) + right })
  for (const [i, { value }] of sides.entries())
    if (typeof value === 'number' || typeof value === 'bigint')
      for (const by of steps(operator, i === 0)) {
        const moved = `${Number(value) + by}${typeof value === 'bigint' ? 'n' : ''}`
        changes.push({ node, instead: i === 0 ? moved + between + right : left + between + moved })
      }
  return changes
}

/** What a literal is changed by, on one side of an operator. */
function steps(operator: string, isLeft: boolean): number[] {
  const other = OTHER_WAY[operator]
  if (other) return [isLeft ? -other : other]
  return operator === '+' || operator === '-' ? [1, -1] : [1]
}

/** Each two arguments that stand beside each other, except functions. */
function swaps(args: Node[], text: (node: Node) => string, source: string): Change[] {
  return args.slice(1).flatMap((second, i): Change[] => {
    const first = args[i]!
    const isFixed = [first, second].some(
      (each) => isFunction(each) || each.type === 'SpreadElement',
    )
    if (isFixed || text(first) === text(second)) return []
    const between = source.slice(first.end, second.start)
    const both = { start: first.start, end: second.end }
    return [{ node: both, instead: text(second) + between + text(first), probed: first }]
  })
}

/** Is it an `if` without `else` that leaves the function or the loop? */
function leaves({ type, alternate, consequent }: Node): boolean {
  if (type !== 'IfStatement' || alternate) return false
  const last = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent
  return last !== undefined && LEAVES.includes(last.type)
}

/** Does the statement change something, as far as one can see? */
function does(expression: Node): boolean {
  const { type } = expression
  if (type === 'AwaitExpression') return does(expression.argument)
  if (type === 'ChainExpression') return does(expression.expression)
  return DOES.includes(type) && expression.callee?.type !== 'Super'
}

function nameOf(node: Node, source: string): string | undefined {
  const isNamed = node.type === 'VariableDeclarator' && node.init && isFunction(node.init)
  if (!isNamed && !NAMED.includes(node.type)) return undefined
  const { start, end } = node.id ?? node.key
  return source.slice(start, end).replace(/:.*/s, '')
}

/** In one line, and not too long. */
function short(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ')
  return line.length > 90 ? `${line.slice(0, 50)} … ${line.slice(-35)}` : line
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

const isFunction = ({ type }: Node): boolean => FUNCTIONS.includes(type)
