import{a,b}from"./chunk-BGGOIH3N.js";import"./chunk-77LEJRZX.js";import"./chunk-SQE76S5B.js";export{b as GetStarted,a as default};
