// What the suite registers, models and tools, in the form that the implementation takes them.
import { LlmAdapter } from '@deepseek-ai/dsh-llm'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { callable } from './functions.mjs'
import { KINDS } from './kinds.mjs'
import { FunctionSpec } from './values.mjs'

/** A model adapter that calls the functions of the suite; those that the suite did not give stay as inherited. */
export function modelAdapter(world, { stream, start, resolve, models, close, names, retryPolicy }) {
  const called = (fn, kind) => (fn === undefined ? () => undefined : callable(world, fn, kind))
  const starting = called(start, KINDS.start)
  const leaving = called(close, KINDS.close)
  const streaming = callable(world, stream, { ...KINDS.stream, leave: ({ provider }) => leaving(provider) })
  const adapter = new class extends LlmAdapter {
    stream(request) {
      starting(request)
      return streaming(request)
    }
  }()
  if (names !== undefined) adapter.providerInfo = (route) => names[route] ?? { id: route, name: route }
  if (retryPolicy !== undefined) adapter.providerRetryPolicy = () => retryPolicy
  if (models !== undefined) adapter.listModels = callable(world, models, KINDS.models)
  if (resolve?.spec !== undefined) adapter.resolveModel = callable(world, resolve, KINDS.resolve)
  else if (resolve !== undefined) {
    adapter.resolveModel = async (provider, model) => resolve[model] ?? { provider, id: model, name: model }
  }
  return adapter
}

/** The definition of a tool, raw or through `defineTool`; what of it is no function of the suite stays as it is. */
export function toolDefinition(world, definition, typed) {
  place(world, definition, KINDS.tool)
  place(world, definition?.output, KINDS.output)
  return typed ? defineTool(definition) : definition
}

function place(world, record, kinds) {
  for (const [member, kind] of Object.entries(kinds)) {
    if (record?.[member] instanceof FunctionSpec) record[member] = callable(world, record[member], kind)
  }
}

/** A call of a tool as the implementation takes it. */
export function toolCall(call, agent) {
  const signal = Object.hasOwn(call, 'signal') ? call.signal : new AbortController().signal
  return { ...call, signal, ...(agent === undefined ? {} : { agent }) }
}
