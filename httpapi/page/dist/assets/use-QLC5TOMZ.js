import{a as g}from"./chunk-BLCWTI63.js";import{b as I}from"./chunk-MGKIWHZ4.js";import"./chunk-T55KUTFP.js";import{a as A}from"./chunk-Z2OQV6YY.js";import{a as _,c as x,e as O}from"./chunk-OSUWWWEO.js";import"./chunk-XG7XSTAL.js";import{a as $,c as h,d as w,l as r,m as y,o as j,x as k}from"./chunk-VBM6FMK2.js";import"./chunk-OOJM4CTU.js";var C=e=>[...e.system?[{role:"system",content:e.system}]:[],{role:"user",content:"What is the capital of France?"}],P={chat:{path:"/chat/completions",body:e=>({messages:C(e),...e.sampling}),python:"chat.completions.create",js:"chat.completions.create",show:["print(answer.choices[0].message.content)","console.log(answer.choices[0].message.content)"]},completion:{path:"/completions",body:e=>({prompt:"The capital of France is",max_tokens:32,...e.sampling}),python:"completions.create",js:"completions.create",show:["print(answer.choices[0].text)","console.log(answer.choices[0].text)"]},embedding:{path:"/embeddings",body:()=>({input:"Paris is the capital of France."}),python:"embeddings.create",js:"embeddings.create",show:["print(len(answer.data[0].embedding))","console.log(answer.data[0].embedding.length)"]},rerank:{path:"/rerank",body:()=>({query:"capital of France",documents:["Paris is the capital of France.","Rome is in Italy."]}),show:['print(answer["results"])',"console.log(answer.results)"]},classification:{path:"/classify",body:()=>({input:"What a lovely day."}),show:['print(answer["data"])',"console.log(answer.data)"]},speech:{path:"/audio/speech",body:()=>({voice:"alloy",input:"Hello there."}),python:"audio.speech.create",js:"audio.speech.create",show:['answer.write_to_file("hello.mp3")','await writeFile("hello.mp3", Buffer.from(await answer.arrayBuffer()))'],out:"hello.mp3"},transcription:{path:"/audio/transcriptions",body:()=>({}),python:"audio.transcriptions.create",js:"audio.transcriptions.create",show:["print(answer.text)","console.log(answer.text)"],in:"recording.mp3"}},p=e=>JSON.stringify(typeof e=="string"?e.toWellFormed():e),m=e=>`'${e.replaceAll("'","'\\''")}'`,u="QUERN_API_KEY";function v(e){let t=P[e.kind],n={model:e.model,...t.body(e)};return[{title:"curl",text:R(e,t,n)},{title:"Python",note:t.python?"pip install openai":"pip install requests",text:U(e,t,n)},{title:"JavaScript",note:t.js?"npm install openai":void 0,text:T(e,t,n)},{title:"Go",note:"only the standard library",text:B(e,t,n)}]}function R(e,t,n){let o=[`curl ${e.base}${t.path}`];return e.key&&o.push(`-H "Authorization: Bearer $${u}"`),t.in?o.push(`-F file=@${t.in}`,...Object.entries(n).map(([a,l])=>"-F "+m(`${a}=${l}`))):o.push("-H 'Content-Type: application/json'","-d "+m(p(n))),t.out&&o.push("-o "+t.out),o.join(` \\
  `)}var f=e=>e===!0?"True":e===!1?"False":e===null?"None":Array.isArray(e)?`[${e.map(f).join(", ")}]`:typeof e=="object"?`{${Object.entries(e).map(([t,n])=>`${p(t)}: ${f(n)}`).join(", ")}}`:p(e),S=new Set(["model","messages","prompt","input","voice","temperature","top_p","max_tokens","seed","stop","presence_penalty","frequency_penalty"]);function U(e,t,n){let o=e.key?`os.environ["${u}"]`:'"none"',a=e.key?`import os

`:"";if(!t.python){let s=e.key?`,
    headers={"Authorization": "Bearer " + ${o}}`:"";return`${a}import requests

answer = requests.post(
    ${p(e.base+t.path)},
    json=${f(n)}${s},
).json()
${t.show[0]}
`}let l=Object.entries(n).filter(([s])=>S.has(s)).map(([s,i])=>`    ${s}=${f(i)},`),c=Object.fromEntries(Object.entries(n).filter(([s])=>!S.has(s)));return Object.keys(c).length&&l.push(`    extra_body=${f(c)},`),t.in&&l.push(`    file=open("${t.in}", "rb"),`),`${a}from openai import OpenAI

client = OpenAI(base_url=${p(e.base)}, api_key=${o})
answer = client.${t.python}(
${l.join(`
`)}
)
${t.show[0]}
`}function T(e,t,n){let o=e.key?`process.env.${u}`:'"none"',a=Object.entries(n).map(([c,s])=>`  ${c}: ${p(s)},`);if(!t.js){let c=e.key?`
    Authorization: \`Bearer \${${o}}\`,`:"";return`const response = await fetch(${p(e.base+t.path)}, {
  method: "POST",
  headers: {
    "Content-Type": "application/json",${c}
  },
  body: JSON.stringify(${p(n)}),
});
const answer = await response.json();
${t.show[1]};
`}let l=['import OpenAI from "openai";'];return t.in&&(l.push('import { createReadStream } from "node:fs";'),a.push(`  file: createReadStream("${t.in}"),`)),t.out&&l.push('import { writeFile } from "node:fs/promises";'),`${l.join(`
`)}

const client = new OpenAI({ baseURL: ${p(e.base)}, apiKey: ${o} });
const answer = await client.${t.js}({
${a.join(`
`)}
});
${t.show[1]};
`}function B(e,t,n){let o=['"fmt"','"io"','"log"','"net/http"'],a=[],l='"application/json"';t.in?(o.push('"bytes"','"mime/multipart"','"os"'),l="form.FormDataContentType()",a.push(`f, err := os.Open("${t.in}")`,"if err != nil {","	log.Fatal(err)","}","var body bytes.Buffer","form := multipart.NewWriter(&body)",...Object.entries(n).map(([i,d])=>`form.WriteField(${p(i)}, ${p(String(d))})`),`part, err := form.CreateFormFile("file", "${t.in}")`,"if err != nil {","	log.Fatal(err)","}","io.Copy(part, f)","form.Close()")):(o.push('"strings"'),a.push(`body := strings.NewReader(${p(p(n))})`)),e.key&&!o.includes('"os"')&&o.push('"os"');let c=t.out?['out, err := os.Create("'+t.out+'")',"if err != nil {","	log.Fatal(err)","}","defer out.Close()","if _, err := io.Copy(out, res.Body); err != nil {","	log.Fatal(err)","}","fmt.Println(res.Status)"]:["answer, err := io.ReadAll(res.Body)","if err != nil {","	log.Fatal(err)","}","fmt.Println(res.Status, string(answer))"];t.out&&!o.includes('"os"')&&o.push('"os"');let s=[...a,`req, err := http.NewRequest("POST", ${p(e.base+t.path)}, ${t.in?"&body":"body"})`,"if err != nil {","	log.Fatal(err)","}",`req.Header.Set("Content-Type", ${l})`,...e.key?[`req.Header.Set("Authorization", "Bearer "+os.Getenv("${u}"))`]:[],"res, err := http.DefaultClient.Do(req)","if err != nil {","	log.Fatal(err)","}","defer res.Body.Close()",...c];return`package main

import (
${o.sort().map(i=>"	"+i).join(`
`)}
)

func main() {
${s.map(i=>"	"+i).join(`
`)}
}
`}function E(e){let t=e.key?"YOUR_KEY":"none",n=[{title:"Environment",note:"for the OpenAI packages and most of what is built on them",text:`export OPENAI_BASE_URL=${m(e.base)}
export OPENAI_API_KEY=${m(t)}
`}];return e.kind!=="chat"?n:[...n,{title:"Open WebUI",note:"in the environment of its container",text:`OPENAI_API_BASE_URL=${e.base}
OPENAI_API_KEY=${t}
`},{title:"Continue",note:"~/.continue/config.yaml",text:`models:
  - name: ${p(e.model)}
    provider: openai
    model: ${p(e.model)}
    apiBase: ${p(e.base)}
    apiKey: ${p(t)}
    roles: [chat, edit]
`},{title:"aider",text:`OPENAI_API_BASE=${m(e.base)} OPENAI_API_KEY=${m(t)} aider --model ${m("openai/"+e.model)}
`},{title:"llm",note:"extra-openai-models.yaml in its folder",text:`- model_id: ${p(e.model)}
  model_name: ${p(e.model)}
  api_base: ${p(e.base)}
`}]}var K={chat:"Chat",completion:"Continue a text",embedding:"Embed",rerank:"Rank",classification:"Classify",speech:"Speak",transcription:"Transcribe"};function N(){let[e,t]=h(null),[n,o]=h(""),a=()=>{t(null),x().catch(t)};w(a,[]);let l=_.value??[],c=l.find(i=>i.id===n)??O.value??l[0],s=c?{base:y+"v1",key:j(),model:c.id,kind:c.type,system:g.value.system??"",sampling:A(g.value)}:null;return r("div",{class:"view use",children:[r("h1",{children:"Use it"}),r("p",{class:"lead",children:["Any program that speaks to OpenAI can speak to this server. Its address is ",r("code",{children:[y,"v1"]}),"."]}),e!==null&&r(k,{error:e,retry:a}),s&&r($,{children:[r("label",{class:"field",children:["Model",r("select",{value:s.model,onChange:i=>o(i.currentTarget.value),children:l.map(i=>r("option",{value:i.id,children:[i.id," · ",K[i.type]]},i.id))})]}),r(F,{label:"Programs",snippets:v(s)}),r("h2",{children:"In other programs"}),r(F,{label:"Configurations",snippets:E(s)}),s.key&&r("p",{class:"hint",children:"The examples leave your key out: set it as QUERN_API_KEY, or put it in for YOUR_KEY."})]})]})}function F({label:e,snippets:t}){let[n,o]=h(0),a=Math.min(n,t.length-1),l=(i,d)=>`${e}-${i}-${d}`,c=i=>{let d={ArrowRight:1,ArrowLeft:-1}[i.key];if(!d)return;let b=(a+d+t.length)%t.length;o(b),document.getElementById(l("tab",b)).focus()},s=t[a];return r("section",{class:"tabs","aria-label":e,children:[r("div",{class:"tab-row",children:[r("div",{role:"tablist","aria-label":e,onKeyDown:c,children:t.map((i,d)=>r("button",{type:"button",role:"tab",id:l("tab",d),"aria-selected":d===a,"aria-controls":l("panel",a),tabIndex:d===a?0:-1,onClick:()=>o(d),children:i.title},i.title))}),r(I,{text:()=>s.text,label:`Copy ${s.title}`})]}),r("div",{role:"tabpanel",id:l("panel",a),"aria-labelledby":l("tab",a),children:[s.note&&r("p",{class:"hint",children:s.note}),r("pre",{dir:"ltr",tabIndex:0,children:r("code",{children:s.text})})]})]})}export{N as default};
