// The value notation, both ways: `show` turns what the implementation gave into JSON, `read` the reverse.
import { Context } from '@deepseek-ai/cordis'
import { HarnessError, LlmError } from '@deepseek-ai/dsh-llm'
import { Session } from '@deepseek-ai/dsh-session'

/** The suite asked for something that this adapter does not do, or that is malformed. */
export class Fault extends Error {}

/** A function of the suite as it stands in a value, before the place where it is used has said what kind it is. */
export class FunctionSpec {
  constructor(spec) { this.spec = spec }
}

class Unprintable {
  toString() { throw new Error('this value has no text') }
}

const NUMBERS = new Map([['NaN', NaN], ['Infinity', Infinity], ['-Infinity', -Infinity], ['-0', -0]])
const SINGLETONS = {
  undefined: () => undefined,
  awaitable: () => new Promise(() => {}),
  function: () => () => {},
  unprintable: () => new Unprintable(),
}
const NOTATION = new Set([
  '$value', '$up', '$error', '$fn', '$signal', '$token', '$arg', '$next', '$kept', '$disposer', '$stream', '$raw',
])

const special = (name) => ({ $value: name })
const isNotation = (value) => Object.keys(value).some((key) => NOTATION.has(key))
export const isAwaitable = (value) => typeof value?.then === 'function'
const isStream = (value) => typeof value?.[Symbol.asyncIterator] === 'function'

/** Define a member even where the name is `__proto__`, which assignment would take as the prototype. */
function put(target, key, value) {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

/** How a command ended, as it is shown: a script answers a list of them, and none is shown a second time. */
export class Outcome {
  constructor({ result, error }) {
    if (error === undefined) this.result = result
    else this.error = error
  }
}

/** Show any value of the implementation as JSON. `world` knows the names; `stack` holds the containers around it. */
export function show(value, world, stack = []) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (Object.is(value, -0)) return special('-0')
      return Number.isFinite(value) ? value : special(String(value))
    case 'undefined':
    case 'function':
      return special(typeof value)
    case 'bigint':
      return String(value)
    case 'symbol':
      return world.token(value)
  }
  if (value === null) return null
  if (value instanceof Outcome) return { ...value }
  if (Context.is(value)) return world?.names.get(value) ?? special('context')
  if (value instanceof Unprintable) return special('unprintable')
  const subject = nameOf(value, world)
  if (subject !== undefined) return subject
  if (value instanceof AbortSignal) return showSignal(value, world, stack)
  const depth = stack.lastIndexOf(value)
  if (depth >= 0) return { $up: stack.length - depth }
  if (value instanceof Error) return errorForm(value, world, stack)
  if (isAwaitable(value)) return special('awaitable')
  if (isStream(value)) return special('stream')
  stack.push(value)
  try {
    if (Array.isArray(value)) return Array.from(value, (item) => show(item, world, stack))
    if (isNotation(value)) return { $raw: value }
    if (isAssembly(value)) return showAssembly(value, world, stack)
    return showMembers(value, world, stack)
  } finally {
    stack.pop()
  }
}

/** Show the members of a record, leaving out those without a value and those named. */
export function showMembers(record, world, stack = [], without = undefined) {
  const shown = {}
  for (const key of Object.keys(record)) {
    const member = record[key]
    if (member !== undefined && key !== without) put(shown, key, show(member, world, stack))
  }
  return shown
}

const isAssembly = ({ sections, contexts, tools, variables }) =>
  [sections, contexts, tools].every(Array.isArray) && typeof variables === 'object' && variables !== null

/** Show the assembly of a prompt, where a variable without a value is there all the same. */
function showAssembly({ variables, ...rest }, world, stack) {
  const shown = {}
  for (const name of Object.keys(variables)) put(shown, name, show(variables[name], world, stack))
  return { ...showMembers(rest, world, stack), variables: shown }
}

/** Show what a call answered: nothing is `null`, an object that the suite has no name for its id. */
export const showResult = (value, world) => (value === undefined ? null : show(value, world))

/** The name of an agent or session, its id where the suite gave none; `undefined` for anything else. */
export function nameOf(value, world) {
  const name = world?.names.get(value)
  if (name !== undefined) return name
  return value instanceof Session || isAgent(value) ? value.id : undefined
}

export const isAgent = (value) => value?.session instanceof Session && value.session.id === value.id

function showSignal(signal, world, stack) {
  const shown = { signal: world?.signalNames.get(signal) ?? null, aborted: signal.aborted }
  if (signal.aborted && signal.reason !== undefined) shown.reason = show(signal.reason, world, stack)
  return shown
}

/** The one form of everything that is thrown. */
export const thrown = (value, world, stack = []) =>
  value instanceof Error ? show(value, world, stack) : { value: showResult(value, world) }

function errorForm(error, world, stack) {
  stack.push(error)
  try {
    const own = error.name
    const form = {
      type: typeof own === 'string' && own !== '' && own !== 'Error' ? own : error.constructor?.name || 'Error',
      message: String(error.message),
      code: typeof error.code === 'string' ? error.code : null,
    }
    if (error.cause !== undefined) form.cause = thrown(error.cause, world, stack)
    if (error.failure !== undefined) form.failure = show(error.failure, world, stack)
    if (Array.isArray(error.violations)) form.violations = error.violations.map(String)
    if (Array.isArray(error.errors)) form.members = error.errors.map((member) => thrown(member, world, stack))
    const name = world?.errorNames.get(error)
    if (name !== undefined) form.is = name
    return form
  } finally {
    stack.pop()
  }
}

/**
 * Read JSON of the suite as a value of the implementation, a fresh one each time.
 * `frame` says where it is read: its world, and inside a script the call whose fields `$arg` and `$next` name.
 */
export function read(json, frame, stack = []) {
  if (json === null || typeof json !== 'object') return json
  if (Array.isArray(json)) {
    const list = []
    stack.push(list)
    for (const item of json) list.push(read(item, frame, stack))
    stack.pop()
    return list
  }
  if (isNotation(json)) return readNotation(json, frame, stack)
  const record = {}
  stack.push(record)
  for (const key of Object.keys(json)) put(record, key, read(json[key], frame, stack))
  stack.pop()
  return record
}

function readNotation(json, frame, stack) {
  const { world, call } = frame
  const known = (map, name, what) => {
    if (!map.has(name)) throw new Fault(`there is no ${what} "${name}"`)
    return map.get(name)
  }
  const inCall = (what) => {
    if (call === undefined) throw new Fault(`${what} stands outside of a call`)
    return call
  }
  if ('$raw' in json) return structuredClone(json.$raw)
  if ('$fn' in json) return new FunctionSpec(json)
  if ('$error' in json) return makeError(json.$error, frame, stack)
  if ('$up' in json) {
    const target = stack.at(-json.$up)
    if (target === undefined) throw new Fault(`{"$up": ${json.$up}} leads out of the value`)
    return target
  }
  if ('$token' in json) return known(world.tokens, json.$token, 'token')
  if ('$signal' in json) return known(world.signals, json.$signal, 'signal').signal
  if ('$kept' in json) return known(world.kept, json.$kept, 'kept value')
  if ('$disposer' in json) return known(world.disposers, json.$disposer, 'disposer')
  if ('$arg' in json) {
    const { agent, fields } = inCall('$arg')
    return at({ agent, ...fields }, json.$arg)
  }
  if ('$stream' in json) return world.stream(json.$stream, frame)
  if ('$next' in json) {
    const next = inCall('$next').nexts[json.$next]
    if (next === undefined) throw new Fault(`next() number ${json.$next} of this call has not been called`)
    return next.answer
  }
  const name = json.$value
  if (NUMBERS.has(name)) return NUMBERS.get(name)
  if (name in SINGLETONS) return SINGLETONS[name]()
  throw new Fault(`the notation ${JSON.stringify(json)} means nothing to this adapter`)
}

function makeError(spec, frame, stack) {
  const cause = 'cause' in spec ? { cause: read(spec.cause, frame, stack) } : {}
  const message = spec.message ?? ''
  const { status, providerRetryAfterMs, requestId } = spec
  const makers = {
    plain: () => new Error(message, cause),
    coded: () => new HarnessError(message, spec.code, cause),
    model: () => new LlmError(message, spec.code, { ...cause, status, providerRetryAfterMs, requestId }),
    aggregate: () => new AggregateError(read(spec.members ?? [], frame, stack), message, cause),
  }
  const make = makers[spec.kind ?? 'plain']
  if (make === undefined) throw new Fault(`there is no kind of error "${spec.kind}"`)
  const error = make()
  if (spec.name !== undefined) error.name = spec.name
  if (spec.code !== undefined) error.code = spec.code
  if (spec.failure !== undefined) error.failure = read(spec.failure, frame, stack)
  if (spec.as !== undefined) frame.world.errorNames.set(error, spec.as)
  return error
}

const steps = (path) => (path === '' ? [] : path.split('.'))

/** What stands at a path of member names and indexes; `undefined` where it leads nowhere. */
export const at = (value, path) => steps(path).reduce((inner, step) => inner?.[step], value)

/** Assign at a path, in place; the engine refuses what is frozen. */
export function assign(value, path, member) {
  const inner = steps(path)
  const last = inner.pop()
  const target = inner.reduce((outer, step) => outer?.[step], value)
  if (last === undefined || target === null || typeof target !== 'object') {
    throw new Fault(`there is nothing at "${path}" to assign to`)
  }
  target[last] = member
}
